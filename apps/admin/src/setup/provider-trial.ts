import { MODEL_KINDS } from '@gateway/upstream/protocol';
import { z } from 'zod';

const setting = z.string().min(1).max(128).optional();

/** A channel that somebody is about to add. */
export const ProviderTrial = z.strictObject({
  /** Of the channel. */
  name: z.string().min(1).max(64),
  provider: z.string().min(1).max(64),
  /** Absent: the provider's own. */
  baseUrl: z.string().min(1).max(2000).optional(),
  settings: z
    .strictObject({
      region: setting,
      project: setting,
      location: setting,
      resource: setting,
      workspaceId: setting,
    })
    .optional(),
  /** Sent to the provider once, and not stored. */
  key: z.string().min(1).max(4096).optional(),
  /** The variable that will hold the key. Its value is tried at the provider's own address only. */
  variable: z
    .string()
    .max(256)
    .regex(/^[A-Za-z_]\w*$/, "it is not a variable's name")
    .optional(),
  /** In place of a key: the credentials that its cloud gives the machine, tried at the provider's own address only. */
  identity: z.literal(true).optional(),
  /** Of a provider that lists no models: this one is asked for a few tokens. */
  model: z.string().min(1).max(256).optional(),
});
export type ProviderTrial = z.infer<typeof ProviderTrial>;

/** What became of asking a provider for its models. */
export const TriedProvider = z.strictObject({
  outcome: z.enum(['listed', 'accepted', 'unlisted', 'untried', 'refused', 'failed', 'unreachable']),
  /** What is wrong, in the provider's words where it said any; null: it listed its models. */
  reason: z.string().nullable(),
  /** What a person can do; null: nothing is to do. */
  advice: z.string().nullable(),
  /** The models that a channel of this kind can serve, by the provider's names; those of the price catalogue first. */
  models: z.array(z.strictObject({ name: z.string(), kind: z.enum(MODEL_KINDS) })),
  /** How many others it listed. */
  omitted: z.int(),
  /** The entries of the configuration's `models` that fit the list, by the names that callers would use. */
  proposal: z.array(z.strictObject({ name: z.string(), entry: z.record(z.string(), z.unknown()) })),
});
export type TriedProvider = z.infer<typeof TriedProvider>;

/** A model server that answers on one of the usual ports of the admin service's machine. */
export const FoundServer = z.strictObject({ provider: z.string(), baseUrl: z.string() });
