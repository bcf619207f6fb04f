import type { Actor } from '@gateway/metering/audit/audit-log';
import type { Request } from 'express';
import { isOverTls } from './authenticate.ts';
import { callsOf } from './roles.ts';
import type { SessionCookies } from './session-cookie.ts';
import type { Session, SignInMethod } from './session-store.ts';
import type { Person, SignIn } from './sign-in.ts';

interface OpenSessionOptions {
  readonly signIn: SignIn;
  readonly cookies: SessionCookies;
  readonly maxSeconds: number;
}

/** What a call has that signs somebody in. */
interface SigningCall {
  readonly request: Request;
  readonly by: Actor;
  readonly setHeader: (name: string, value: string) => void;
}

/** Signs in whom `identify` finds, by a cookie of the answer. Resolves to the answer. @throws {GatewayError} of `identify` */
export type OpenSession = (
  method: SignInMethod,
  call: SigningCall,
  identify: () => Promise<Person>,
) => Promise<ReturnType<typeof shownOwnSession>>;

export const createOpenSession =
  ({ signIn, cookies, maxSeconds }: OpenSessionOptions): OpenSession =>
  async (method, { request, by: { requestId }, setHeader }, identify) => {
    const session = await signIn({ method, request, requestId, identify });
    const isSecure = isOverTls(request);
    setHeader('set-cookie', cookies.create(session.id, { isSecure, maxAgeSeconds: maxSeconds }));
    return shownOwnSession(session);
  };

export const shownSession = ({
  createdAtMs,
  expiresAtMs,
  lastUsedAtMs,
  scope,
  keyHash: _,
  person,
  ...session
}: Session) => ({
  ...session,
  personId: person?.id ?? null,
  teams: scope.kind === 'teams' ? scope.teams : null,
  keyId: scope.kind === 'key' ? scope.keyId : null,
  createdAt: new Date(createdAtMs).toISOString(),
  expiresAt: new Date(expiresAtMs).toISOString(),
  lastUsedAt: new Date(lastUsedAtMs).toISOString(),
});

export const shownOwnSession = (session: Session) => ({
  ...shownSession(session),
  permissions: callsOf(session.role),
});
