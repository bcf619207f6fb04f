import { ProcessSettings, setting } from '@gateway/service-kit/config';
import { z } from 'zod';

export const AdminConfig = ProcessSettings.extend({
  ADMIN_PORT: setting.port(8090),
  REDIS_URL: setting.redisUrl(),
  MAX_JSON_DEPTH: setting.jsonDepth(),
  GATEWAY_SECRET: setting.secret(),
  /** The configuration of channels and models, to show it and to check patterns against it. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
  /** The time zone of budget periods. */
  GATEWAY_TIME_ZONE: setting.timeZone(),
  /** From which keys' webhook secrets are derived. Absent: there are none. */
  WEBHOOK_SECRET: setting.secret().optional(),
  /** For what is reserved for jobs that are queued again. */
  USAGE_RECORDS_DAYS: setting.keepRecordsDays(),
  USAGE_SUMS_DAYS: setting.keepSumsDays(),
  /** The bearer token of this service. It lets its owner make keys. */
  GATEWAY_ADMIN_TOKEN: z.string().min(16, 'must have at least 16 characters'),
  /** Where callers reach the gateway: shown with the settings of clients. Default: this machine at `PORT`. */
  PUBLIC_URL: setting.url().optional(),
  PORT: setting.port(8080),
  /** When a session of the console ends, in hours: since it was opened, and without use. */
  CONSOLE_SESSION_HOURS: setting.integer(12, { min: 1, max: 24 * 30 }),
  CONSOLE_SESSION_IDLE_HOURS: setting.integer(2, { min: 1, max: 24 * 30 }),
  /** Set by `npm start`: the command line recognises this service by it. */
  ADMIN_INSTANCE_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
});
export type AdminConfig = z.infer<typeof AdminConfig>;

export const publicUrlOf = ({ PUBLIC_URL, PORT }: AdminConfig): string =>
  PUBLIC_URL ?? `http://127.0.0.1:${PORT}`;
