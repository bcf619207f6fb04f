import { GatewayError } from '@gateway/contracts/gateway-error';
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
  /** In one read, in the order of the ids. */
  find(ids: readonly ProviderId[], keyId: string): Promise<readonly FoundOrigin[]>;
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
export const originKey = ({ kind, id }: ProviderId): string =>
  `gateway:${kind}:${id.slice(0, MAX_ID_CHARACTERS + 1)}`;

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
  const rememberIds = defineScript(redis, 'gatewayRememberIds', REMEMBER, z.unknown());
  return {
    remember: async (ids, origin) => {
      const kept = rememberedIds(ids);
      if (kept.length === 0) return;
      await rememberIds(
        kept.map(originKey),
        JSON.stringify(origin),
        ...kept.map((id) => originTtlSeconds(id, ttlSeconds)),
      );
    },
    find: async (ids, keyId) => {
      const texts = await redis.mget(ids.map(originKey)).catch(unavailable);
      return texts.map((text) => {
        if (text === null) return 'unknown';
        const origin = IdOrigin.parse(JSON.parse(text));
        return origin.keyId === keyId ? origin : 'foreign';
      });
    },
    forget: async (id) => {
      await redis.del(originKey(id));
    },
  };
}

function unavailable(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Stored responses cannot be found at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
}
