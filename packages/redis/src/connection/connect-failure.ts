import { errorMessage } from '@gateway/contracts/error-message';

/** What to do about what Redis, TLS or the network answered. */
const ADVICE: readonly (readonly [answer: RegExp, advice: string])[] = [
  [
    /WRONGPASS|NOAUTH|invalid password|without any password configured/,
    'correct the user and the password in REDIS_URL, or the file that REDIS_PASSWORD_FILE names (of sentinels: sentinelUser, sentinelPassword, REDIS_SENTINEL_PASSWORD_FILE)',
  ],
  [/NOPERM/, 'give its user the rights that docs/operations.md lists'],
  [
    /self-signed|unable to (?:verify|get)/i,
    'name the authority of its certificate in REDIS_CA_FILE, in PEM form',
  ],
  [
    /altnames/,
    'write a name of its certificate in REDIS_URL, or ?serverName= with one; sentinels need resolve-hostnames and announce-hostnames to tell names',
  ],
  [
    /ECONNRESET|Connection is closed|certificate required/,
    'if it expects TLS, write rediss://, and name a client certificate in REDIS_CERT_FILE and REDIS_KEY_FILE if it wants one',
  ],
  [/ETIMEDOUT|wrong version number/, 'check host and port; without TLS, write redis:// instead of rediss://'],
];

/** Why a connection could not be opened, in words, with what to do where that is known. */
export function connectFailure(error: unknown): string {
  const message = errorMessage(error);
  const advice = ADVICE.find(([answer]) => answer.test(message))?.[1];
  return advice === undefined ? message : `${message}; ${advice}`;
}
