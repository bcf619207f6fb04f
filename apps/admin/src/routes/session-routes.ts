import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Logger } from '@gateway/service-kit/logger';
import type { Metrics } from '@gateway/service-kit/metrics';
import type { Request } from 'express';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../admin-route.ts';
import { checkOrigin, isOverTls } from '../sessions/authenticate.ts';
import { callsOf } from '../sessions/roles.ts';
import { ALL } from '../sessions/scope.ts';
import type { SessionCookies } from '../sessions/session-cookie.ts';
import { SESSION_ID, type Session, type SessionStore } from '../sessions/session-store.ts';
import type { SignInAttempts } from '../sessions/sign-in-attempts.ts';
import { OwnSessionReply, SessionList, SessionReply } from './schemas.ts';

interface SessionRoutesOptions {
  readonly sessions: SessionStore;
  readonly cookies: SessionCookies;
  readonly attempts: SignInAttempts;
  /** Throws for anything but the admin token. */
  readonly checkToken: (authorization: string | undefined) => void;
  readonly maxSeconds: number;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'signIn'>;
}

const SignIn = z.strictObject({
  /** The admin token. */
  token: z.string().min(1).max(1000),
  /** Who signs in, for the audit log: what the person says, not a proof. */
  name: z
    .string()
    .regex(/^[\x20-\x7e]{1,100}$/, 'it must have 1 to 100 printable ASCII characters')
    .default('admin'),
});

const MAX_USER_AGENT_CHARS = 300;

const shown = ({ createdAtMs, expiresAtMs, lastUsedAtMs, scope, keyHash: _, ...session }: Session) => ({
  ...session,
  teams: scope.kind === 'teams' ? scope.teams : null,
  keyId: scope.kind === 'key' ? scope.keyId : null,
  createdAt: new Date(createdAtMs).toISOString(),
  expiresAt: new Date(expiresAtMs).toISOString(),
  lastUsedAt: new Date(lastUsedAtMs).toISOString(),
});

const shownOwn = (session: Session) => ({ ...shown(session), permissions: callsOf(session.role) });

const addressOf = ({ socket }: Request): string => socket.remoteAddress ?? 'unknown';

/** Sign in to the console, sign out, and see and end the sessions of all people. */
export function sessionRoutes(options: SessionRoutesOptions): AdminRoute[] {
  const { sessions, cookies, attempts, checkToken, maxSeconds, logger, metrics } = options;

  const signIn = async (
    request: Request,
    { token, name }: z.infer<typeof SignIn>,
    requestId: string | null,
  ) => {
    const address = addressOf(request);
    await attempts.begin(address);
    checkToken(`Bearer ${token}`);
    await attempts.succeed(address);
    const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_CHARS) ?? null;
    const person = { name, method: 'token', role: 'admin', scope: ALL, keyHash: null } as const;
    return sessions.open({ ...person, address, userAgent }, { who: name, requestId });
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/session',
      summary: 'Sign in with the admin token: the answer sets the cookie of a session',
      query: NO_QUERY,
      body: SignIn,
      status: 201,
      reply: OwnSessionReply,
      handle: async ({ body, request, by, setHeader }) => {
        checkOrigin(request);
        try {
          const session = await signIn(request, body, by.requestId);
          const isSecure = isOverTls(request);
          setHeader('set-cookie', cookies.create(session.id, { isSecure, maxAgeSeconds: maxSeconds }));
          metrics.signIn({ method: 'token', outcome: 'ok' });
          logger.info({ sessionId: session.id, who: session.name, role: session.role }, 'signed in');
          return shownOwn(session);
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          const outcome = OUTCOMES[error.code] ?? 'failed';
          metrics.signIn({ method: 'token', outcome });
          logger.warn({ address: addressOf(request), outcome, requestId: by.requestId }, 'sign-in refused');
          throw error;
        }
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/session',
      summary: 'Who is signed in, and which calls that person may make',
      query: NO_QUERY,
      body: NO_BODY,
      reply: OwnSessionReply,
      handle: async ({ principal }) => shownOwn(ownSession(principal.session)),
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/session',
      summary: 'Sign out',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SessionReply,
      handle: async ({ principal, request, by, setHeader }) => {
        const session = ownSession(principal.session);
        await sessions.end(session.id, by);
        setHeader('set-cookie', cookies.clear({ isSecure: isOverTls(request) }));
        return shown(session);
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/sessions',
      summary: 'List the sessions of the console that have not ended, the newest first',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SessionList,
      handle: async () => ({ data: (await sessions.list()).map(shown), next: null }),
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/sessions/{id}',
      summary: 'End a session of the console at once',
      query: NO_QUERY,
      body: NO_BODY,
      reply: z.strictObject({ id: z.string() }),
      handle: async ({ parameter: id, by }) => {
        if (!SESSION_ID.test(id) || !(await sessions.end(id, by)))
          throw new GatewayError('object_not_found', `There is no session '${id}', or it has ended.`);
        return { id };
      },
    }),
  ];
}

const OUTCOMES: Readonly<Partial<Record<GatewayError['code'], 'refused' | 'limited'>>> = {
  invalid_key: 'refused',
  missing_key: 'refused',
  rate_limited: 'limited',
};

function ownSession(session: Session | null): Session {
  if (session !== null) return session;
  throw new GatewayError('object_not_found', 'There is no session: this call came with the admin token.');
}
