/** Words that keys begin with, and that come before one in a header. */
const BEFORE_A_KEY: ReadonlySet<string> = new Set([
  'sk',
  'pk',
  'rk',
  'gsk',
  'gwk',
  'gwa',
  'hf',
  'ghp',
  'bearer',
  'basic',
]);
/** Such as `apiKey:…`, where the space after the colon is missing. */
const NAME_WITH_KEY = /(key|token|secret|password|authorization)["']?\s*[:=]/i;
/** A word, a short number, or a short mixture such as `gpt4o` or `128e`. A key has longer mixtures. */
const PIECE = /^([A-Za-z]{0,20}|\d{1,8}|[A-Za-z0-9]{1,7})$/;
const MAX_SHOWN = 80;

/** Whether a message may repeat a name from the file: a key can stand where a name belongs. */
export function isShownName(name: string): boolean {
  if (name.length > MAX_SHOWN || NAME_WITH_KEY.test(name) || /[^\x20-\x7e]/.test(name)) return false;
  const pieces = name.split(/[^A-Za-z0-9]+/);
  return pieces.every((piece) => PIECE.test(piece) && !BEFORE_A_KEY.has(piece.toLowerCase()));
}

/** Whether a text begins as keys of providers do. */
export const beginsAsKey = (text: string): boolean =>
  text.length >= 16 && BEFORE_A_KEY.has(text.split(/[^A-Za-z0-9]/, 1)[0]?.toLowerCase() ?? '');

export const HIDDEN_NAME = '(a name that is not shown)';

/** A name in quotes, or its length. */
export const quotedName = (name: string, isShown = isShownName(name)): string =>
  isShown ? JSON.stringify(name) : `a name of ${characters(name)}`;

export const characters = (text: string): string =>
  `${text.length} ${text.length === 1 ? 'character' : 'characters'}`;
