import { z } from 'zod';
import { AuthEntry } from './auth-entry.ts';
import { ApiKey, HeaderName, HeaderValue } from './file-schema.ts';

// Each `error` completes the sentence "found …, expected …".

/** The protocols of hooks: LiteLLM's generic guardrail API, OpenAI's moderations, Bedrock's guardrails. */
export const HOOK_KINDS = ['generic', 'moderation', 'bedrock'] as const;
export type HookKind = (typeof HOOK_KINDS)[number];

/** What a hook may be sent beside the texts of a request. */
export const HOOK_INCLUDES = ['images', 'tools'] as const;

/** When what a caller sends is checked: before a provider gets it, or beside that, until the first output. */
export const INPUT_CHECKS = ['before', 'beside', 'off'] as const;
/** How what a model answers is checked: a stream in windows, or whole; or only reported after the end. */
export const OUTPUT_CHECKS = ['window', 'whole', 'report', 'off'] as const;

const words = z.array(z.string().min(1)).min(1).max(200);
const MAX_TIMEOUT_MS = 60_000;
const MAX_CHARS = 4_000_000;
const MAX_WINDOW_CHARS = 100_000;

/** All that it names must fit. */
const RuleEntry = z.strictObject({
  keys: words.optional(),
  teams: words.optional(),
  models: words.optional(),
});

export const HookEntry = z.strictObject({
  kind: z.enum(HOOK_KINDS),
  baseUrl: z.string().optional(),
  apiKey: ApiKey.optional(),
  auth: AuthEntry.optional(),
  headers: z.record(HeaderName, HeaderValue).optional(),
  input: z.enum(INPUT_CHECKS).optional(),
  output: z.enum(OUTPUT_CHECKS).optional(),
  windowChars: z.int().min(20).max(MAX_WINDOW_CHARS).optional(),
  overlapChars: z.int().min(0).max(MAX_WINDOW_CHARS).optional(),
  timeoutMs: z.int().min(10).max(MAX_TIMEOUT_MS).optional(),
  onFailure: z.enum(['block', 'pass']).optional(),
  maxChars: z.int().min(100).max(MAX_CHARS).optional(),
  /** Absent: it checks every request. */
  rules: z.array(RuleEntry).min(1).max(100).optional(),
  /** `generic`: what its server gets beside the texts of a request. */
  include: z.array(z.enum(HOOK_INCLUDES)).max(HOOK_INCLUDES.length).optional(),
  /** `generic`: what its server gets as `additional_provider_specific_params`. */
  params: z.record(z.string(), z.json()).optional(),
  /** `moderation`. */
  model: z.string().min(1).optional(),
  /** `bedrock`. */
  region: z
    .string()
    .regex(/^[a-z0-9-]{3,32}$/, { error: 'a region such as us-east-1' })
    .optional(),
  guardrail: z
    .strictObject({
      id: z.string().regex(/^[A-Za-z0-9:/_.-]{1,200}$/, { error: "a guardrail's id or ARN" }),
      version: z.string().regex(/^(?:DRAFT|\d{1,8})$/, { error: 'DRAFT, or the number of a version' }),
    })
    .optional(),
});
export type HookEntry = z.infer<typeof HookEntry>;
