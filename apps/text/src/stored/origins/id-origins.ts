import { GatewayError } from '@gateway/contracts/gateway-error';
import { createBringBack } from '@gateway/conversations/asks';
import { MOVED, movedMember } from '@gateway/conversations/store-scripts';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** Where something was made and whose it is. */
export const IdOrigin = z.object({
  keyId: z.string(),
  channel: z.string(),
  /** The only account that can read it; absent: every account of the channel can. */
  account: z.string().optional(),
  /** The model's name at that channel. */
  model: z.string(),
  /** The name that the caller used. */
  requestedModel: z.string(),
});
export type IdOrigin = z.infer<typeof IdOrigin>;

/** What providers give ids to that a later request may name. */
export type IdKind =
  | 'response'
  | 'item'
  | 'conversation'
  | 'message'
  | 'container'
  | 'audio'
  /** By the digest of what its provider has sealed. */
  | 'compaction';

/** An id as a provider gave it to a caller. */
export interface ProviderId {
  readonly kind: IdKind;
  readonly id: string;
}

/** `unknown` covers ids that have expired. Callers must not see the difference from `foreign`, which is another key's. */
export type FoundOrigin = IdOrigin | 'foreign' | 'unknown';

/** Remembers which key received an id and which channel made it, so that a later request with it finds the way. */
export interface IdOrigins {
  /** In one write. @throws what Redis throws; the ids cannot be found again then */
  remember(ids: readonly ProviderId[], origin: IdOrigin): Promise<void>;
  /** In one read, in the order of the ids. Those in the database are brought back for their owners, who are the key's. */
  find(
    ids: readonly ProviderId[],
    whose: { readonly keyId: string; readonly owners: readonly string[] },
  ): Promise<readonly FoundOrigin[]>;
  forget(id: ProviderId): Promise<void>;
}

/** No provider's ids are as long. */
const MAX_ID_CHARACTERS = 512;
/** Ids of one reply that are remembered. */
const MAX_IDS = 512;
/** Anthropic keeps a thread for an hour at most. */
const MESSAGE_TTL_SECONDS = 3600;

/** Longer ids are not remembered. */
const isRemembered = ({ id }: ProviderId): boolean => id.length <= MAX_ID_CHARACTERS;

/** The ids of a reply that are remembered. */
export const rememberedIds = (ids: readonly ProviderId[]): readonly ProviderId[] =>
  ids.filter(isRemembered).slice(0, MAX_IDS);

/** Under which an id's origin lies in Redis. A longer id is cut to what is not remembered either. */
export const originKey = (id: ProviderId): string => `gateway:${originName(id)}`;
const originName = ({ kind, id }: ProviderId): string => `${kind}:${id.slice(0, MAX_ID_CHARACTERS + 1)}`;

/** How long an id is remembered, where ids are for `ttlSeconds`. */
export const originTtlSeconds = ({ kind }: ProviderId, ttlSeconds: number): number =>
  kind === 'message' ? Math.min(ttlSeconds, MESSAGE_TTL_SECONDS) : ttlSeconds;

const REMEMBER = readScript(new URL('./remember-ids.lua', import.meta.url));

interface IdOriginsOptions {
  readonly redis: Redis;
  /** How long an id can be found, in seconds. */
  readonly ttlSeconds: number;
}

export function createIdOrigins({ redis, ttlSeconds }: IdOriginsOptions): IdOrigins {
  const bringBack = createBringBack(redis);
  const rememberIds = defineScript(redis, 'gatewayRememberIds', REMEMBER, z.unknown());
  return {
    remember: async (ids, origin) => {
      const kept = rememberedIds(ids);
      if (kept.length === 0) return;
      await rememberIds(
        [MOVED, ...kept.map(originKey)],
        JSON.stringify(origin),
        ...kept.flatMap((id) => [originTtlSeconds(id, ttlSeconds), movedMember(originName(id))]),
      );
    },
    find: async (ids, { keyId, owners }) => {
      const read = () => redis.mget(ids.map(originKey)).catch(unavailable);
      const first = await read();
      const moved = await namesMoved(redis, ids, first).catch(unavailable);
      for (const owner of moved.size === 0 ? [] : owners)
        await bringBack(owner, [...moved.values()]).catch(unavailable);
      const texts = moved.size === 0 ? first : await read();
      return texts.map((text, at) => {
        // It is in the database, but not this key's.
        if (text === null) return moved.has(at) ? 'foreign' : 'unknown';
        const origin = IdOrigin.parse(JSON.parse(text));
        return origin.keyId === keyId ? origin : 'foreign';
      });
    },
    forget: async (id) => {
      await redis.del(originKey(id));
    },
  };
}

/** What can be in the database. */
const MOVED_KINDS: ReadonlySet<IdKind> = new Set(['response', 'item']);

/** The names of ids that Redis does not have and the database has, by their places. */
async function namesMoved(
  redis: Redis,
  ids: readonly ProviderId[],
  texts: readonly (string | null)[],
): Promise<ReadonlyMap<number, string>> {
  const missing = ids.flatMap((id, at) =>
    texts[at] === null && MOVED_KINDS.has(id.kind) ? [[at, originName(id)] as const] : [],
  );
  if (missing.length === 0) return new Map();
  const found = await redis.smismember(MOVED, ...missing.map(([, name]) => movedMember(name)));
  return new Map(missing.filter((_, index) => found[index] === 1));
}

function unavailable(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Stored responses cannot be found at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
}
