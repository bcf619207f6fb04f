import { parseDocument, stringify } from 'yaml';
import { ALERT_SECRETS } from './alerts-entry.ts';
import { AUTH_SECRETS } from './auth-entry.ts';
import { beginsAsKey } from './mistakes/shown-name.ts';

/** Members whose texts are secrets, at any depth below them. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'apiKey',
  'apiKeys',
  'headers',
  ...AUTH_SECRETS,
  ...ALERT_SECRETS,
]);
const MASKED = '[masked]';
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
  stringify(masked(parseDocument(text, { merge: true, uniqueKeys: false }).toJS(), false), {
    lineWidth: 120,
    aliasDuplicateObjects: false,
  });

function masked(value: unknown, isSecret: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, isSecret));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        masked(member, !isShown(name, member) && (isSecret || SECRET_MEMBERS.has(name))),
      ]),
    );
  if (isSecret) return typeof value === 'string' && ONLY_VARIABLES.test(value) ? value : MASKED;
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
