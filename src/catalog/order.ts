// Order: compares text by code units, so that an order is the same in every locale.

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
