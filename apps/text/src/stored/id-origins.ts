import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** Where a response was made and whose it is. */
export const ResponseOrigin = z.object({
  keyId: z.string(),
  channel: z.string(),
  /** The model's name at that channel. */
  model: z.string(),
  /** The name that the caller used. */
  requestedModel: z.string(),
});
export type ResponseOrigin = z.infer<typeof ResponseOrigin>;

/** Remembers which channel made a response, so that what refers to it later finds the way. */
export interface ResponseOrigins {
  /** @throws what Redis throws; the id cannot be found again then */
  remember(id: string, origin: ResponseOrigin): Promise<void>;
  /** Null for an id that is unknown, expired or another key's: the three must look the same. */
  find(id: string, keyId: string): Promise<ResponseOrigin | null>;
  forget(id: string): Promise<void>;
}

/** No provider's ids come near; what is longer is not one of theirs. */
const LONGEST_ID = 512;

const redisKey = (id: string): string => `gateway:response:${id}`;

interface ResponseOriginsOptions {
  readonly redis: Redis;
  /** How long a response can be found, in seconds. */
  readonly ttlSeconds: number;
}

export function createResponseOrigins({ redis, ttlSeconds }: ResponseOriginsOptions): ResponseOrigins {
  return {
    remember: async (id, origin) => {
      if (id.length > LONGEST_ID) throw new Error('a response id beyond all measure');
      await redis.set(redisKey(id), JSON.stringify(origin), 'EX', ttlSeconds);
    },
    find: async (id, keyId) => {
      if (id.length > LONGEST_ID) return null;
      const text = await redis.get(redisKey(id)).catch(unavailable);
      if (text === null) return null;
      const origin = ResponseOrigin.parse(JSON.parse(text));
      return origin.keyId === keyId ? origin : null;
    },
    forget: async (id) => {
      await redis.del(redisKey(id));
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
