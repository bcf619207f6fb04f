import { parseDocument, stringify } from 'yaml';
import { ALERT_SECRETS } from './alerts-entry.ts';
import { AUTH_SECRETS } from './auth-entry.ts';
import { beginsAsKey } from './mistakes/shown-name.ts';

const MASKED = '[masked]';
const whole = (): string => MASKED;
/** The host of an address is none of its secrets. */
function pathOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) return MASKED;
  const user = url.username === '' && url.password === '' ? '' : `${MASKED}@`;
  return url.protocol.startsWith('smtp')
    ? `${url.protocol}//${user}${url.host}`
    : `${url.protocol}//${user}${url.host}/${MASKED}`;
}
/** What it becomes has the form of one, since a shown text can be checked again. */
const WEBHOOK_MASK = `whsec_${'masked'.repeat(6)}`;
const ofWebhook = (): string => WEBHOOK_MASK;
/** By which a text is recognised that has been masked. */
export const MASKS: readonly string[] = [MASKED, WEBHOOK_MASK];

/** Members whose texts are secrets, at any depth below them, and what is shown of these. */
const SECRET_MEMBERS: ReadonlyMap<string, (text: string) => string> = new Map([
  ...['apiKey', 'apiKeys', 'headers', ...AUTH_SECRETS].map((name) => [name, whole] as const),
  ...ALERT_SECRETS.map((name) => [name, name === 'secret' ? ofWebhook : pathOf] as const),
]);
/** A text that consists of variables only tells a name and no secret. */
const ONLY_VARIABLES = /^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/;
const SHOWN_ACCOUNT_MEMBERS: ReadonlySet<string> = new Set(['weight', 'maxConcurrent']);
/** Where credentials come from: shown without the secrets in it. */
const AUTH = 'auth';

/**
 * The text of a valid configuration for people to read: without its secrets and comments, since a comment may hold an old key.
 * Variables are shown by their names. Only for a text that has been checked: a misspelt member could hold a secret.
 */
export const maskedConfiguration = (text: string): string =>
  stringify(maskedValue(parseDocument(text, { merge: true, uniqueKeys: false }).toJS()), {
    lineWidth: 120,
    aliasDuplicateObjects: false,
  });

/** The same of a value that was read from such a text. */
export const maskedValue = (value: unknown): unknown => masked(value, null);

/** @param mask for what is a secret; null where nothing is */
function masked(value: unknown, mask: ((text: string) => string) | null): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, mask));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        masked(member, isShown(name, member) ? null : (mask ?? SECRET_MEMBERS.get(name) ?? null)),
      ]),
    );
  if (mask !== null) {
    if (typeof value !== 'string') return MASKED;
    return ONLY_VARIABLES.test(value) ? value : mask(value);
  }
  if (typeof value !== 'string') return value;
  return beginsAsKey(value) ? MASKED : withoutCredentials(value);
}

/** An account may have one of these names too, and then its key is below it. */
const isShown = (name: string, member: unknown): boolean =>
  (SHOWN_ACCOUNT_MEMBERS.has(name) && typeof member === 'number') ||
  (name === AUTH && typeof member === 'object' && member !== null && 'type' in member);

/** An address may have a user, a password and a key in its query. */
function withoutCredentials(text: string): string {
  const url = /^https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null || (url.username === '' && url.password === '' && url.search === '')) return text;
  const query = url.search === '' ? '' : `?${MASKED}`;
  const user = url.username === '' && url.password === '' ? '' : `${MASKED}@`;
  return `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
