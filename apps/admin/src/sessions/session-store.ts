import { randomBytes } from 'node:crypto';
import { type Actor, type AuditEntry, addAuditEntry } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { Role } from './roles.ts';
import { Scope } from './scope.ts';

export const SignInMethod = z.enum(['token', 'key', 'oidc', 'password']);
export type SignInMethod = z.infer<typeof SignInMethod>;

/** One person's sign-in, as it is stored. Times are Unix milliseconds. */
const Session = z.strictObject({
  id: z.string(),
  /** For the audit log: what the person says, or what the identity provider says of the person. */
  name: z.string(),
  /** How the person signed in. */
  method: SignInMethod,
  role: Role,
  scope: Scope,
  /** Signed in with a key: the keyed hash of its secret. The session ends when that stops working. */
  keyHash: z.string().nullable(),
  /** Signed in with a password: whose session it is. It ends when the person gets another epoch; role and scope are the person's. */
  person: z.strictObject({ id: z.string(), epoch: z.int() }).optional(),
  createdAtMs: z.number(),
  /** Ends then, however much it is used. */
  expiresAtMs: z.number(),
  lastUsedAtMs: z.number(),
  /** From where it was opened. */
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
});
export type Session = z.infer<typeof Session>;

export interface SessionStore {
  open(person: NewSession, by: Actor): Promise<Session>;
  /** The session, if it has not ended; counts as use. */
  use(id: string): Promise<Session | undefined>;
  /** All that have not ended, the newest first. */
  list(): Promise<readonly Session[]>;
  /** False if it has ended already. */
  end(id: string, by: Actor): Promise<boolean>;
  /** Ends all of a person. */
  endAllOf(personId: string, by: Actor): Promise<void>;
}

export type NewSession = Omit<Session, 'id' | 'createdAtMs' | 'expiresAtMs' | 'lastUsedAtMs'>;

interface SessionStoreOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly maxSeconds: number;
  /** Without use for this long it ends. */
  readonly idleSeconds: number;
}

export const SESSION_ID = /^ses_[\w-]{22}$/;
/** The oldest end when there are more. */
const MAX_SESSIONS = 1_000;
/** A use within this time of the one before is not written down. */
const USE_STEP_MS = 60_000;

const names = {
  /** String: the session as JSON; Redis removes it when it has been idle for too long. */
  session: (id: string) => `gateway:session:${id}`,
  /** Sorted set of ids by the time of their creation. */
  index: 'gateway:sessions',
} as const;

const parse = (text: string | null): Session | undefined => {
  const result = text === null ? undefined : Session.safeParse(JSON.parse(text));
  return result?.data;
};

/** The sessions of people who use the console. What is stored does not suffice to make a cookie. */
export function createSessionStore({
  redis,
  now,
  maxSeconds,
  idleSeconds,
}: SessionStoreOptions): SessionStore {
  const secondsLeft = ({ expiresAtMs }: Session, nowMs: number): number =>
    Math.max(1, Math.min(idleSeconds, Math.ceil((expiresAtMs - nowMs) / 1000)));

  const hasEnded = ({ expiresAtMs, lastUsedAtMs }: Session, nowMs: number): boolean =>
    nowMs >= expiresAtMs || nowMs - lastUsedAtMs >= idleSeconds * 1000;

  const entryOf = (session: Session, action: AuditEntry['action'], by: Actor): AuditEntry => {
    const { id: subject, name, role, scope, method, address } = session;
    const shown = { name, role, scope, method, address };
    const isOpened = action === 'session.opened';
    return {
      at: new Date(now()).toISOString(),
      ...by,
      action,
      subject,
      before: isOpened ? null : shown,
      after: isOpened ? shown : null,
    };
  };

  const read = async (id: string): Promise<Session | undefined> => {
    const session = parse(await awaitRedis(redis.get(names.session(id))));
    return session === undefined || hasEnded(session, now()) ? undefined : session;
  };

  const removeOldest = async (): Promise<void> => {
    const oldest = await awaitRedis(redis.zrange(names.index, '0', String(-MAX_SESSIONS - 1)));
    if (oldest.length === 0) return;
    await awaitRedis(redis.del(oldest.map(names.session)));
    await awaitRedis(redis.zrem(names.index, oldest));
  };

  const list = async (): Promise<Session[]> => {
    const ids = await awaitRedis(redis.zrange(names.index, '0', '-1', 'REV'));
    if (ids.length === 0) return [];
    const texts = await awaitRedis(redis.mget(ids.map(names.session)));
    const sessions = texts.map(parse);
    const gone = ids.filter((_, at) => sessions[at] === undefined);
    if (gone.length > 0) await awaitRedis(redis.zrem(names.index, gone));
    const nowMs = now();
    return sessions.filter((one) => one !== undefined).filter((one) => !hasEnded(one, nowMs));
  };

  const end = async (id: string, by: Actor): Promise<boolean> => {
    const session = await read(id);
    if (session === undefined) return false;
    const transaction = redis.multi();
    transaction.del(names.session(id));
    transaction.zrem(names.index, id);
    addAuditEntry(transaction, entryOf(session, 'session.ended', by));
    await awaitRedis(transaction.exec());
    return true;
  };

  return {
    async open(person, by) {
      const nowMs = now();
      const session: Session = {
        id: `ses_${randomBytes(16).toString('base64url')}`,
        ...person,
        createdAtMs: nowMs,
        expiresAtMs: nowMs + maxSeconds * 1000,
        lastUsedAtMs: nowMs,
      };
      const transaction = redis.multi();
      transaction.set(names.session(session.id), JSON.stringify(session), 'EX', secondsLeft(session, nowMs));
      transaction.zadd(names.index, nowMs, session.id);
      addAuditEntry(transaction, entryOf(session, 'session.opened', by));
      await awaitRedis(transaction.exec());
      await removeOldest();
      return session;
    },

    async use(id) {
      const session = await read(id);
      const nowMs = now();
      if (session === undefined || nowMs - session.lastUsedAtMs < USE_STEP_MS) return session;
      const used = { ...session, lastUsedAtMs: nowMs };
      // XX: a session that was ended meanwhile stays ended.
      await awaitRedis(
        redis.set(names.session(id), JSON.stringify(used), 'EX', secondsLeft(used, nowMs), 'XX'),
      );
      return used;
    },

    list,
    end,
    async endAllOf(personId, by) {
      for (const { id, person } of await list()) if (person?.id === personId) await end(id, by);
    },
  };
}
