import { getHeapStatistics } from 'node:v8';
import { ConfigError } from '@gateway/contracts/config-error';
import { ownEnvironment } from '@gateway/contracts/environment';
import { isTimeZone } from '@gateway/contracts/time-zone';
import { openRedisSecrets, problemOf } from '@gateway/redis/place/redis-secrets';
import { parseRedisUrl, redisUrlOf } from '@gateway/redis/place/redis-url';
import { z } from 'zod';

/**
 * Reads a process's settings from its environment, once. An empty variable counts as absent, and white space around a value not at all.
 * The files that belong to a Redis become part of its URL.
 *
 * @throws {ConfigError} naming every variable that is missing or wrong, never its value
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
): z.infer<Schema> {
  const own = ownEnvironment(env);
  const whole = { ...own, REDIS_URL: redisUrlOf(own) ?? '' };
  const present = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return `  ${name}: ${name in present ? issue.message : 'is not set'}`;
  });
  throw new ConfigError(`The environment is not usable:\n${lines.join('\n')}`);
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`);

const commaTexts = (text: string): string[] => text.split(',').flatMap((one) => one.trim() || []);

function jsonTexts(text: string): string[] | undefined {
  try {
    return z.array(z.string().min(1)).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Such as `ou=groups`: two of these in a row are one name of a directory, taken apart at its commas. */
const isPartOfName = (text: string | undefined): boolean => /^(cn|ou|dc|o|l|st|c|uid)\s*=/i.test(text ?? '');
const TEXTS_EXPECTED =
  'must be texts separated by commas, or a JSON list where they hold commas: ["cn=admins,ou=groups,dc=example,dc=com"]';

const HEAP_BYTES = getHeapStatistics().heap_size_limit;

/** Builders for the settings that several processes share. */
export const setting = {
  /** A TCP port; 0 lets the system choose. */
  port: (fallback: number) => wholeNumber(0, 65_535).default(fallback),
  integer: (fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) =>
    wholeNumber(min, max).default(fallback),
  /** A count of things that take this many bytes of the heap each. Default: as many as fit. */
  partOfHeap: (bytesOfEach: number) =>
    wholeNumber(1, Number.MAX_SAFE_INTEGER).default(Math.floor(HEAP_BYTES / bytesOfEach)),
  /** How deep a request's JSON may be nested. Beyond the upper bound recursive functions may overflow the stack. */
  jsonDepth: () => wholeNumber(16, 500).default(128),
  url: () => z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  /** Origins, separated by commas. */
  origins: () =>
    z
      .string()
      .default('')
      .transform(commaTexts)
      .refine(
        (origins) => origins.every((one) => URL.canParse(one) && new URL(one).origin === one),
        'must be origins such as http://10.0.0.5:9000, separated by commas',
      ),
  /** Texts, separated by commas; or a JSON list, for texts that hold commas, such as the names of a directory. */
  texts: () =>
    z
      .string()
      .default('')
      .transform((text, context) => {
        const texts = text.startsWith('[') ? jsonTexts(text) : commaTexts(text);
        const isTaken = (_: string, at: number) => isPartOfName(texts?.[at - 1]) && isPartOfName(texts?.[at]);
        if (texts !== undefined && (text.startsWith('[') || !texts.some(isTaken))) return texts;
        context.addIssue({ code: 'custom', message: TEXTS_EXPECTED });
        return z.NEVER;
      }),
  /** With everything that belongs to it: see `parseRedisUrl`. */
  redisUrl: () =>
    z.string().superRefine((url, context) => {
      const problem = problemOf(() => openRedisSecrets(parseRedisUrl(url)));
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
  databaseUrl: () =>
    z
      .url({
        protocol: /^postgres(ql)?$/,
        error: 'must be a postgres:// URL, such as postgres://user:password@host:5432/gateway',
      })
      .refine((text) => URL.parse(text)?.hash === '', 'must have its password percent-encoded: "#" as %23')
      .refine(
        (text) => (URL.parse(text)?.pathname ?? '').length > 1,
        'must end with the name of the database, such as /gateway',
      ),
  /** The time zone of budget periods, which begin at its midnight; the same for all processes. */
  timeZone: () =>
    z
      .string()
      .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin or UTC')
      .default('UTC'),
  /** How long single usage records are kept. */
  keepRecordsDays: () => wholeNumber(1, 3650).default(90),
  /** How long usage summed up by the hour is kept. */
  keepSumsDays: () => wholeNumber(1, 3650).default(400),
  /** The secret that all processes share. */
  secret: () => z.string().min(32, 'must have at least 32 characters'),
};

/** The settings of every process. */
export const ProcessSettings = z.object({
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Absent: `pretty` on a terminal, else `json`. */
  LOG_FORMAT: z.enum(['pretty', 'json']).optional(),
  DRAIN_TIMEOUT_MS: setting.integer(30_000),
  /** How long a process serves on after SIGTERM, unready, until the balancer before it has noticed. */
  DRAIN_DELAY_MS: setting.integer(0),
  /** The address to listen on. */
  HOST: z.string().default('127.0.0.1'),
});
export type ProcessSettings = z.infer<typeof ProcessSettings>;

/** How much of the heap a request in flight takes, at most and on average. A stream takes about half of that. */
const HEAP_BYTES_OF_REQUEST = 256 * 1024;
/** How much of the heap a parsed JSON body takes, in relation to its bytes. */
const HEAP_OF_BODY = 8;

/** The bounds of what the edge and a service take on. By default they follow the process's heap. */
export const LoadSettings = z.object({
  /** Requests in flight. */
  MAX_REQUESTS_IN_FLIGHT: setting.partOfHeap(HEAP_BYTES_OF_REQUEST),
  /** Bytes of bodies that are held in memory, in all services of the process. */
  MAX_BODY_BYTES_IN_FLIGHT: setting.partOfHeap(HEAP_OF_BODY),
  /** How late the event loop may be. */
  MAX_EVENT_LOOP_DELAY_MS: setting.integer(500, { min: 1 }),
});
export type LoadSettings = z.infer<typeof LoadSettings>;

/** The settings of every process that meters requests. */
export const MeterSettings = z.object({
  /** The folder for usage that could not be settled. */
  GATEWAY_DATA_DIR: z.string().default('.data'),
  /** The time zone of budget periods. */
  GATEWAY_TIME_ZONE: setting.timeZone(),
  USAGE_RECORDS_DAYS: setting.keepRecordsDays(),
  USAGE_SUMS_DAYS: setting.keepSumsDays(),
});
