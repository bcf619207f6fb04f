import { z } from 'zod';

// Each `error` completes the sentence "found …, expected …".

/** The roles that may be let read the log; `admin` always may. */
export const CONTENT_READERS = ['viewer', 'team-lead'] as const;
export type ContentReader = (typeof CONTENT_READERS)[number];

const words = z.array(z.string().min(1)).min(1).max(200);
const MAX_DAYS = 3650;
const MAX_BYTES = 8 * 1024 ** 2;
const MAX_PATTERN_CHARACTERS = 500;

const RuleEntry = z.strictObject({
  /** Absent: all, as for the others. */
  keys: words.optional(),
  teams: words.optional(),
  models: words.optional(),
  share: z.number().min(0).max(1).optional(),
  /** Absent: every pattern there is. */
  redact: z.array(z.string()).max(100).optional(),
  mayOptOut: z.boolean().optional(),
});

export const ContentLogEntry = z.strictObject({
  retentionDays: z.number().positive().max(MAX_DAYS).optional(),
  maxBytes: z.int().min(1024).max(MAX_BYTES).optional(),
  patterns: z.record(z.string(), z.string().min(1).max(MAX_PATTERN_CHARACTERS)).optional(),
  readers: z.array(z.enum(CONTENT_READERS)).optional(),
  rules: z.array(RuleEntry).max(100),
});
export type ContentLogEntry = z.infer<typeof ContentLogEntry>;
