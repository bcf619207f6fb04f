import { GatewayError } from '@gateway/contracts/gateway-error';

export const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 200;
/** Below this a password is a few characters, repeated. */
const MIN_DIFFERENT = 5;
/** A word that makes up most of a password is its weakness. */
const MIN_REST_CHARS = 6;

/** What most guesses begin with; passwords of these, with digits around them, are common as well. */
const COMMON = [
  ...['password', 'passwort', 'passw0rd', 'p@ssword', 'p@ssw0rd', 'motdepasse', 'contraseña', 'letmein'],
  ...['qwertyuiop', 'qwerty', 'qwertz', 'azerty', 'asdfghjkl', 'zxcvbnm', '1q2w3e4r5t', '1qaz2wsx3edc'],
  ...['administrator', 'admin', 'welcome', 'willkommen', 'changeme', 'iloveyou', 'superman', 'football'],
  ...['monkey', 'dragon', 'sunshine', 'princess', 'trustno1', 'abcdefghijkl', 'abc123', 'secret', 'gateway'],
  ...['1234567890', '0987654321', '123456', '987654'],
];

/**
 * Refuses what is guessed first: too short, common, repeated, or mostly the person's own name or address.
 *
 * @throws {GatewayError} `invalid_value` with the member's path
 */
export function checkPassword(
  password: string,
  { email, name }: { readonly email: string; readonly name: string },
): void {
  const plain = password.normalize('NFKC').toLowerCase();
  if ([...plain].length < MIN_PASSWORD_CHARS)
    throw weak(`it must have at least ${MIN_PASSWORD_CHARS} characters`);
  if (new Set(plain).size < MIN_DIFFERENT) throw weak('it repeats a few characters');
  const own = [email, ...email.split(/[@.+_-]/), ...name.split(/\s+/)].filter((part) => part.length > 3);
  if (isMostly(plain, own)) throw weak('it is mostly your name or e-mail address');
  if (isMostly(plain, COMMON)) throw weak('it is one of the passwords that are guessed first');
}

/** Whether little is left without these words, digits and signs at its end. */
const isMostly = (password: string, words: readonly string[]): boolean =>
  words.some((word) => {
    const rest = password.replaceAll(word.toLowerCase(), '');
    return rest.length < password.length && rest.replaceAll(/[^\p{L}]/gu, '').length < MIN_REST_CHARS;
  });

const weak = (reason: string): GatewayError =>
  new GatewayError('invalid_value', {
    message: `Choose another password: ${reason}. Several unrelated words are a good one.`,
    path: ['password'],
  });
