import { Price } from '@gateway/contracts/models/price';
import { QuirkSettings } from '@gateway/contracts/quirks';
import { z } from 'zod';
import { PROXY_EXPECTED, readProxy } from '../connecting/proxy.ts';
import { MODEL_KINDS, PROTOCOLS } from '../protocol.ts';
import { AuthEntry } from './auth-entry.ts';
import { channelSettings } from './channel-settings.ts';
import { PRESETS, type Provider } from './presets/presets.ts';

// Each `error` completes the sentence "found …, expected …".

const someWords = z.array(z.string().min(1)).min(1);

/**
 * The rules of an image family that the configuration gives itself. Absent: that rule is not checked.
 * Members that are not named here are passed to the image service unchanged.
 */
export const ImageFamily = z.looseObject({
  /** Such as `1024x1024`; `auto` where the provider chooses. The first one is the default. */
  sizes: someWords.optional(),
  qualities: someWords.optional(),
  styles: someWords.optional(),
  promptMaxChars: z.number().int().min(1).optional(),
  maxN: z.number().int().min(1).max(100).optional(),
  /** How many images an edit may take. */
  maxInputImages: z.number().int().min(1).max(100).optional(),
  /** The default for callers who do not set it. */
  defaultResponseFormat: z.enum(['url', 'b64_json']).optional(),
  /** Whether the provider takes `response_format`; if not, it is left out and the result converted. */
  acceptsResponseFormat: z.boolean().optional(),
});
export type ImageFamily = z.infer<typeof ImageFamily>;

const milliseconds = z.int().min(1).max(86_400_000);
const words = z.array(z.string().min(1)).max(100);
const providers = Object.keys(PRESETS).filter((name): name is Provider => name in PRESETS);

/** A name of a channel or an account that is safe in a header and as a metric's label. */
export const SafeName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'a header name' });
export const HeaderValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: 'a text on one line, without control characters' });

export const ApiKey = z
  .string()
  .regex(/^[\x21-\x7e]+$/, { error: 'a key: letters, digits and signs, no spaces' });

const maxConcurrent = z.int().min(1).max(100_000).optional();
const weight = z.number().positive().max(1_000_000).optional();

/** Has a key or `auth`. */
const AccountEntry = z.strictObject({
  apiKey: ApiKey.optional(),
  auth: AuthEntry.optional(),
  weight,
  maxConcurrent,
});
export type AccountEntry = z.infer<typeof AccountEntry>;
const seconds = z.number().positive().max(86_400);

export const CooldownEntry = z.strictObject({
  consecutiveFailures: z.int().min(1).max(1000).optional(),
  failureRate: z.number().positive().max(1).optional(),
  minRequests: z.int().min(1).max(100_000).optional(),
  windowSeconds: seconds.optional(),
  restSeconds: seconds.optional(),
  maxRestSeconds: seconds.optional(),
});

const timeLimits = {
  firstOutputMs: milliseconds.optional(),
  idleMs: milliseconds.optional(),
  totalMs: milliseconds.optional(),
};
/** For one kind of work. */
const TimeLimitsEntry = z.strictObject(timeLimits).optional();

/** Credentials are taken with a scheme only: so they are recognised wherever a configuration is shown. */
const isProxySetting = (text: string): boolean =>
  text === 'direct' || (readProxy(text) !== undefined && (text.includes('://') || !text.includes('@')));

export const ChannelEntry = z.strictObject({
  provider: z.enum(providers),
  baseUrl: z.string().optional(),
  ...channelSettings,
  apiKey: ApiKey.optional(),
  auth: AuthEntry.optional(),
  apiKeys: z
    .record(
      z.string(),
      z.union([ApiKey, AccountEntry], {
        error: 'a key, or a mapping with apiKey or auth, weight and maxConcurrent',
      }),
    )
    .optional(),
  accountsShareStorage: z.boolean().optional(),
  proxy: z
    .string()
    .refine(isProxySetting, { error: `direct, or ${PROXY_EXPECTED}` })
    .optional(),
  caFile: z.string().min(1).optional(),
  speaks: z.array(z.enum(PROTOCOLS)).min(1).optional(),
  headers: z.record(HeaderName, HeaderValue).optional(),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.optional(),
      ...timeLimits,
      text: TimeLimitsEntry,
      image: TimeLimitsEntry,
      speech: TimeLimitsEntry,
      transcription: TimeLimitsEntry,
      embedding: TimeLimitsEntry,
      rerank: TimeLimitsEntry,
      moderation: TimeLimitsEntry,
      realtime: TimeLimitsEntry,
    })
    .optional(),
  maxConcurrent,
  maxConcurrentPerProcess: maxConcurrent,
  maxWaitMs: z.int().min(0).max(60_000).optional(),
  onDisconnect: z.enum(['cancel', 'drain']).optional(),
  drainMs: milliseconds.optional(),
  cooldown: z
    .union([z.literal('off'), CooldownEntry], { error: 'off, or a mapping of its settings' })
    .optional(),
  batches: z
    .union(
      [z.literal('provider'), z.strictObject({ priceFactor: z.number().positive().max(100).optional() })],
      {
        error: 'provider, or a mapping with priceFactor',
      },
    )
    .optional(),
  forwardUserIds: z.boolean().optional(),
  passTraceparent: z.boolean().optional(),
  quirks: QuirkSettings.optional(),
});
export type ChannelEntry = z.infer<typeof ChannelEntry>;

/** Settings of a route, or of a model for all of its routes. */
const abilities = {
  builtInTools: words.optional(),
  formats: words.min(1).optional(),
  maxFileBytes: z.int().min(100_000).optional(),
  maxAudioSeconds: z.int().min(1).optional(),
  streamFormats: z
    .array(z.enum(['audio', 'sse']))
    .min(1)
    .optional(),
  voices: words.min(1).optional(),
  maskTransparent: z.enum(['edit', 'preserve']).optional(),
};

export const RouteEntry = z.strictObject({
  channel: z.string().min(1),
  model: z
    .string()
    .regex(/^(?!$)[^*]*\*?[^*]*$/, {
      error: "one name with at most one *, or nothing: the caller's name is then passed on",
    })
    .optional(),
  speaks: z.array(z.enum(PROTOCOLS)).min(1).optional(),
  /** What it charges, as a multiple of the model's price. */
  priceFactor: z.number().positive().max(100).optional(),
  priority: z.int().min(0).max(1000).optional(),
  weight,
  quirks: QuirkSettings.optional(),
  ...abilities,
});
export type RouteEntry = z.infer<typeof RouteEntry>;

export const ModelEntry = z.strictObject({
  kind: z.enum(MODEL_KINDS),
  routes: z.array(RouteEntry).min(1).max(100),
  fallback: z
    .strictObject({ maxAttempts: z.int().min(1).max(100).optional(), totalMs: milliseconds.optional() })
    .optional(),
  hedge: z
    .strictObject({
      minDelayMs: milliseconds.optional(),
      maxDelayMs: milliseconds.optional(),
      minSamples: z.int().min(1).max(100_000).optional(),
      maxShare: z.number().positive().max(1).optional(),
    })
    .optional(),
  family: z
    .union([z.string().min(1), ImageFamily], { error: "a family's name, or a mapping of its rules" })
    .optional(),
  ...abilities,
  dropUnavailableTools: z.boolean().optional(),
  contextWindow: z.int().min(1).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  price: Price.optional(),
  /** Its routes name one and the same model in different words. */
  sameModel: z.boolean().optional(),
});
export type ModelEntry = z.infer<typeof ModelEntry>;

const MAX_DAYS = 3650;
const MAX_BYTES = Number.MAX_SAFE_INTEGER;

export const ConversationsEntry = z.strictObject({
  retentionDays: z.number().positive().max(MAX_DAYS).optional(),
  maxBytesPerKey: z.int().min(0).max(MAX_BYTES).optional(),
  maxChainLength: z.int().min(1).max(100_000).optional(),
  maxChainBytes: z.int().min(1024).max(MAX_BYTES).optional(),
  neverKept: z.strictObject({ keys: words.optional(), models: words.optional() }).optional(),
  sharingTeams: words.optional(),
});
export type ConversationsEntry = z.infer<typeof ConversationsEntry>;

/** The file's outline. Each entry is checked separately, so that one mistake does not hide the others. */
export const FileOutline = z.strictObject({
  channels: z.record(z.string(), z.unknown()),
  models: z.record(z.string(), z.unknown()),
  conversations: z.unknown().optional(),
  alerts: z.unknown().optional(),
  contentLog: z.unknown().optional(),
  hooks: z.record(z.string(), z.unknown()).optional(),
});
