import type { Redis } from 'ioredis';
import { createSessionCookies } from '../sessions/session-cookie.ts';
import { createSessionStore, type NewSession } from '../sessions/session-store.ts';
import { GATEWAY_SECRET } from './run-admin.ts';

export type Person = Pick<NewSession, 'role' | 'scope'> & Partial<NewSession>;

/** The `Cookie` header of a session that nobody has signed in for. */
export async function cookieOf(redis: Redis, person: Person): Promise<string> {
  const store = createSessionStore({ redis, now: Date.now, maxSeconds: 3600, idleSeconds: 3600 });
  const { id } = await store.open(
    {
      ...{ name: person.role, method: 'oidc', keyHash: null, address: '127.0.0.1', userAgent: null },
      ...person,
    },
    { who: person.role, requestId: null },
  );
  const cookie = createSessionCookies(GATEWAY_SECRET).create(id, { isSecure: false, maxAgeSeconds: 60 });
  return cookie.split(';')[0] ?? '';
}
