import { GatewayError } from '@gateway/contracts/gateway-error';
import type { KeyFinder } from '@gateway/metering/keys/find-key';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { OwnSessionReply, SessionList, SessionReply } from '../../api/schemas/access.ts';
import { checkOrigin, isOverTls } from '../../sessions/authenticate.ts';
import { callsOf } from '../../sessions/roles.ts';
import { ALL } from '../../sessions/scope.ts';
import type { SessionCookies } from '../../sessions/session-cookie.ts';
import { SESSION_ID, type Session, type SessionStore } from '../../sessions/session-store.ts';
import type { Person, SignIn } from '../../sessions/sign-in.ts';

interface SessionRoutesOptions {
  readonly sessions: SessionStore;
  readonly cookies: SessionCookies;
  readonly signIn: SignIn;
  /** Throws for anything but the admin token. */
  readonly checkToken: (authorization: string | undefined) => void;
  readonly keys: Pick<KeyFinder, 'findKey'>;
  /** The keyed hash of a key's secret. */
  readonly hashSecret: (secret: string) => string;
  readonly maxSeconds: number;
}

const secret = z.string().min(1).max(1000);

const SignInBody = z.strictObject({
  /** The admin token. */
  token: secret.optional(),
  /** Or a key's secret. */
  key: secret.optional(),
  /** Who signs in with the token, for the audit log: what the person says, not a proof. */
  name: z
    .string()
    .regex(/^[\x20-\x7e]{1,100}$/, 'it must have 1 to 100 printable ASCII characters')
    .default('admin'),
});
type SignInBody = z.infer<typeof SignInBody>;

const shown = ({ createdAtMs, expiresAtMs, lastUsedAtMs, scope, keyHash: _, ...session }: Session) => ({
  ...session,
  teams: scope.kind === 'teams' ? scope.teams : null,
  keyId: scope.kind === 'key' ? scope.keyId : null,
  createdAt: new Date(createdAtMs).toISOString(),
  expiresAt: new Date(expiresAtMs).toISOString(),
  lastUsedAt: new Date(lastUsedAtMs).toISOString(),
});

const shownOwn = (session: Session) => ({ ...shown(session), permissions: callsOf(session.role) });

/** Sign in to the console, sign out, and see and end the sessions of all people. */
export function sessionRoutes(options: SessionRoutesOptions): AdminRoute[] {
  const { sessions, cookies, signIn, checkToken, keys, hashSecret, maxSeconds } = options;

  const identify = async ({ token, key, name }: SignInBody): Promise<Person> => {
    if (token !== undefined) {
      checkToken(`Bearer ${token.trim()}`);
      return { name, role: 'admin', scope: ALL, keyHash: null };
    }
    const found = await keys.findKey(key?.trim() ?? '');
    if (found === undefined)
      throw new GatewayError('invalid_key', 'This is not a key, or it was revoked, disabled or has expired.');
    const { keyId, keyName } = found.identity;
    const scope = { kind: 'key', keyId } as const;
    return { name: keyName, role: 'key-holder', scope, keyHash: hashSecret(key?.trim() ?? '') };
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/session',
      summary: 'Sign in with the admin token or a key: the response sets a session cookie',
      query: NO_QUERY,
      body: SignInBody,
      status: 201,
      reply: OwnSessionReply,
      handle: async ({ body, request, by: { requestId }, setHeader }) => {
        checkOrigin(request);
        checkOneSecret(body);
        const method = body.token === undefined ? 'key' : 'token';
        const session = await signIn({ method, request, requestId, identify: () => identify(body) });
        const isSecure = isOverTls(request);
        setHeader('set-cookie', cookies.create(session.id, { isSecure, maxAgeSeconds: maxSeconds }));
        return shownOwn(session);
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
      summary: 'List the active sessions of the console, newest first',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SessionList,
      handle: async () => ({ data: (await sessions.list()).map(shown), next: null }),
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/sessions/{id}',
      summary: 'End a session of the console immediately',
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

function checkOneSecret({ token, key }: SignInBody): void {
  if ((token === undefined) !== (key === undefined)) return;
  throw new GatewayError('invalid_value', {
    message: "Send the admin token as 'token', or a key as 'key'.",
    path: ['token'],
  });
}

function ownSession(session: Session | null): Session {
  if (session !== null) return session;
  throw new GatewayError('object_not_found', 'There is no session: this call came with the admin token.');
}
