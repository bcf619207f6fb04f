import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { GATEWAY_ITSELF } from '@gateway/metering/audit/audit-log';
import type { KeyFinder } from '@gateway/metering/keys/find-key';
import type { PeopleStore } from '@gateway/records/people/people-store';
import { rightsOf } from '../people/person.ts';
import type { AddressOf } from './client-address.ts';
import type { Role } from './roles.ts';
import { ALL, type Scope } from './scope.ts';
import type { SessionCookies } from './session-cookie.ts';
import type { Session, SessionStore } from './session-store.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';

/** Who makes a call: the holder of the admin token, or a person who has signed in to the console. */
export interface Principal {
  readonly role: Role;
  readonly scope: Scope;
  /** Null: the admin token came with the request. */
  readonly session: Session | null;
}

/** Finds out who makes a call. */
export type Authenticate = (request: IncomingMessage) => Promise<Principal>;

interface AuthenticateOptions {
  /** Throws for anything but the admin token. */
  readonly checkToken: (authorization: string | undefined) => void;
  /** Counts the wrong ones of an address. */
  readonly guesses: Pick<SignInAttempts, 'fail'>;
  readonly addressOf: AddressOf;
  readonly cookies: SessionCookies;
  readonly sessions: SessionStore;
  readonly keys: Pick<KeyFinder, 'findKeyByHash'>;
  readonly people: Pick<PeopleStore, 'get'>;
}

const READING = ['GET', 'HEAD'];

/**
 * An `Authorization` header counts before a session's cookie.
 *
 * @throws {GatewayError} by the result: `missing_key`, `invalid_key`; `rate_limited` for a wrong token after too many;
 *   `origin_not_allowed` for a change by another site's page
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { checkToken, guesses, addressOf, cookies, sessions, keys, people } = options;

  /** The right token passes whatever was guessed before. */
  const checkGuess = async (authorization: string | undefined, request: IncomingMessage) => {
    try {
      checkToken(authorization);
    } catch (error) {
      const isGuess = error instanceof GatewayError && error.code === 'invalid_key';
      if (isGuess) await guesses.fail(addressOf(request));
      throw error;
    }
  };

  /** The session as it counts now: what it was opened with may have ended, or may be allowed something else. */
  const current = async (session: Session): Promise<Session | undefined> => {
    const { keyHash, person } = session;
    if (person !== undefined) {
      const rights = rightsOf(await people.get(person.id), person.epoch);
      return rights && { ...session, ...rights };
    }
    const isOpen = keyHash === null || (await keys.findKeyByHash(keyHash)) !== undefined;
    return isOpen ? session : undefined;
  };

  /** The session of a cookie; it ends with what it was opened with. */
  const sessionOf = async (id: string): Promise<Session | undefined> => {
    const session = await sessions.use(id);
    if (session === undefined) return undefined;
    const now = await current(session);
    if (now === undefined) await sessions.end(id, GATEWAY_ITSELF);
    return now;
  };

  return async (request) => {
    const { authorization } = request.headers;
    const id = authorization === undefined ? cookies.read(request.headers.cookie) : undefined;
    const session = id === undefined ? undefined : await sessionOf(id);
    if (session === undefined) {
      await checkGuess(authorization, request);
      return { role: 'admin', scope: ALL, session: null };
    }
    if (!READING.includes(request.method ?? '')) checkOrigin(request);
    return { role: session.role, scope: session.scope, session };
  };
}

/**
 * Refuses what a page of another origin sends with a person's cookie. SameSite=Strict does not suffice: all ports of a host are
 * one site. Browsers send `Sec-Fetch-Site` over TLS and to this machine, `Origin` with every change.
 *
 * @throws {GatewayError} `origin_not_allowed`
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? isOwnOrigin(headers) : site === 'same-origin';
  if (!isOwn)
    throw new GatewayError('origin_not_allowed', 'This change comes from a page that is not the console.');
}

function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Whether the page's browser speaks TLS, which something in front of this service ends. */
export const isOverTls = ({ headers }: IncomingMessage): boolean =>
  headers.origin?.startsWith('https://') === true;
