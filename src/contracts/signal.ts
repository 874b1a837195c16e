// Signals: one that many may listen to is never listened to itself, because Node counts the listeners of a signal and warns
// from the eleventh on (MaxListenersExceededWarning).

/** A signal of one's own that is aborted together with `shared`. Listening to it adds nothing to `shared`. */
export function ownSignal(shared: AbortSignal): AbortSignal {
  return AbortSignal.any([shared]);
}
