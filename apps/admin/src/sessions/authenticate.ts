import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Role } from './roles.ts';
import { ALL, type Scope } from './scope.ts';
import type { SessionCookies } from './session-cookie.ts';
import type { Session, SessionStore } from './session-store.ts';

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
  readonly cookies: SessionCookies;
  readonly sessions: SessionStore;
}

const READING = ['GET', 'HEAD'];

/**
 * An `Authorization` header counts before a session's cookie.
 *
 * @throws {GatewayError} by the result: `missing_key`, `invalid_key`; `origin_not_allowed` for a change by another site's page
 */
export const createAuthenticate =
  ({ checkToken, cookies, sessions }: AuthenticateOptions): Authenticate =>
  async (request) => {
    const { authorization, cookie } = request.headers;
    const id = authorization === undefined ? cookies.read(cookie) : undefined;
    const session = id === undefined ? undefined : await sessions.use(id);
    if (session === undefined) {
      checkToken(authorization);
      return { role: 'admin', scope: ALL, session: null };
    }
    if (!READING.includes(request.method ?? '')) checkOrigin(request);
    return { role: session.role, scope: session.scope, session };
  };

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
