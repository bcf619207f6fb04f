/** Characters that control a terminal or change the direction of text; names stored by older versions may have them. */
const CONTROL = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** The text with such characters as JSON escapes. */
export const printable = (text: string): string =>
  text.replace(CONTROL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
