// Tables of Unicode that JavaScript's `\p{…}` does not have: how letters join, which signs are viramas, and which scripts
// have marks of their own. They are taken from Unicode 14 and cover scripts in everyday use (UAX 31, tables 5 and 7).

const SCRIPTS =
  "Adlam Arabic Balinese Batak Bengali Buginese Chakma Cham Coptic Cyrillic Devanagari Ethiopic Glagolitic Grantha Greek " +
  "Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hebrew Hiragana Javanese Kannada Katakana Kayah_Li Khmer " +
  "Lao Latin Lepcha Limbu Malayalam Mandaic Meetei_Mayek Miao Mongolian Myanmar Newa Nko Nyiakeng_Puachue_Hmong Oriya " +
  "Saurashtra Sinhala Sundanese Syloti_Nagri Syriac Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Tirhuta Wancho";

/** One test for each script that has marks. A mark may belong to several. */
export const MARKED_SCRIPTS: readonly RegExp[] = SCRIPTS.split(" ").map((name) => new RegExp(`^\\p{scx=${name}}`, "u"));

/** Letters that join to the letter after them: of Arabic, Syriac and N'Ko. (Joining_Type=Dual_Joining) */
export const DUAL_JOINING: readonly RegExp[] = [
  /^[\u0620\u0626\u0628\u062A-\u062E\u0633-\u063F\u0641-\u0647\u0649\u064A\u066E\u066F\u0678-\u0687\u069A-\u06BF\u06C1\u06C2\u06CC\u06CE\u06D0\u06D1\u06FA-\u06FC\u06FF\u0750-\u0758\u075C-\u076A\u076D-\u0770\u0772\u0775-\u0777\u077A-\u077F\u0886\u0889-\u088D\u08A0-\u08A9\u08AF\u08B0\u08B3-\u08B8\u08BA-\u08C8]$/,
  /^[\u0712-\u0714\u071A-\u071D\u071F-\u0727\u0729\u072B\u072D\u072E\u074E\u074F]$/,
  /^[\u07CA-\u07EA]$/,
];

/** Letters that join only to the letter before them, of the same scripts. (Joining_Type=Right_Joining) */
export const RIGHT_JOINING: readonly RegExp[] = [
  /^[\u0622-\u0625\u0627\u0629\u062F-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06C0\u06C3-\u06CB\u06CD\u06CF\u06D2\u06D3\u06D5\u06EE\u06EF\u0759-\u075B\u076B\u076C\u0771\u0773\u0774\u0778\u0779\u0870-\u0882\u088E\u08AA-\u08AC\u08AE\u08B1\u08B2\u08B9]$/,
  /^[\u0710\u0715-\u0719\u071E\u0728\u072A\u072C\u072F\u074D]$/,
  /^(?!)$/,
];

/** Marks of these scripts, through which letters join. (Joining_Type=Transparent) */
export const TRANSPARENT =
  "\\u0610-\\u061A\\u064B-\\u065F\\u0670\\u06D6-\\u06DC\\u06DF-\\u06E4\\u06E7\\u06E8\\u06EA-\\u06ED\\u0711\\u0730-\\u074A\\u07EB-\\u07F3\\u07FD\\u0898-\\u089F\\u08CA-\\u08E1\\u08E3-\\u08FF";

/** Viramas of the scripts in which a joiner after one changes the form that is drawn. */
export const VIRAMA = /^[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA]$/;

/** Signs without ink that put the next letter below. (Indic_Syllabic_Category=Invisible_Stacker, and Tifinagh's joiner) */
export const STACKERS = /^[\u1039\u17D2\u1A60\u2D7F\uAAF6]$/;
