import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { SealedValues } from './sealed-values.ts';

/** A draft of the configuration that one request is sent by. */
export const ShelvedDraft = z.object({
  text: z.string(),
  /** Values of variables that the text names, sealed. */
  secrets: z.record(z.string(), z.string()),
});
export type ShelvedDraft = z.infer<typeof ShelvedDraft>;

/** As long as the pass that names it. */
const LIFETIME_SECONDS = 60;
const keyOf = (id: string): string => `gateway:configuration:draft:${id}`;
/** No variable has such a name. */
const sealOf = (id: string): string => `draft ${id}`;

/** Where a draft lies, sealed, from the admin service that tries it until a text service has read it. Every call rejects while Redis is away. */
export interface DraftShelf {
  /** False where one of this id lies there already. */
  put(id: string, draft: ShelvedDraft): Promise<boolean>;
  /** Null: it is gone, or was sealed under another secret. */
  read(id: string): Promise<ShelvedDraft | null>;
  remove(id: string): Promise<void>;
}

export const createDraftShelf = (redis: Redis, values: SealedValues): DraftShelf => ({
  put: async (id, draft) => {
    const sealed = values.seal(sealOf(id), JSON.stringify(draft));
    return (await redis.set(keyOf(id), sealed, 'EX', LIFETIME_SECONDS, 'NX')) === 'OK';
  },
  read: async (id) => {
    const sealed = await redis.get(keyOf(id));
    const text = sealed === null ? null : values.open(sealOf(id), sealed);
    return text === null ? null : (ShelvedDraft.safeParse(jsonIn(text)).data ?? null);
  },
  remove: async (id) => void (await redis.del(keyOf(id))),
});
