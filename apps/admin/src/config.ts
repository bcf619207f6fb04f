import { BootstrapKey } from '@gateway/metering/keys/key-secret';
import { FileSettings } from '@gateway/model-service/settings';
import { ProcessSettings, setting } from '@gateway/service-kit/config';
import { ConfigurationSourceSetting } from '@gateway/upstream/configuration/stored/configuration-source-setting';
import { PrivateNetworks } from '@gateway/upstream/fetching/public-address';
import { z } from 'zod';

/** Stands for the id of a trace in its address. */
export const TRACE_ID_PLACE = /\$?\{traceId\}/g;

export const AdminConfig = ProcessSettings.extend({
  /** Where the content log lies. */
  ...FileSettings.shape,
  ADMIN_PORT: setting.port(8090),
  REDIS_URL: setting.redisUrl(),
  MAX_JSON_DEPTH: setting.jsonDepth(),
  GATEWAY_SECRET: setting.secret(),
  /** The configuration of channels and models, to show it and to check patterns against it. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
  CONFIGURATION_SOURCE: ConfigurationSourceSetting,
  /** A caller's key that must exist. */
  GATEWAY_BOOTSTRAP_KEY: BootstrapKey.optional(),
  /** The time zone of budget periods. */
  GATEWAY_TIME_ZONE: setting.timeZone(),
  /** From which keys' webhook secrets are derived. Absent: there are none. */
  WEBHOOK_SECRET: setting.secret().optional(),
  /** Where alerts may go besides public addresses, as webhooks may. */
  WEBHOOK_PRIVATE_NETWORKS: PrivateNetworks,
  /** How often alerts look for what has changed. */
  ALERTS_EVERY_SECONDS: setting.integer(30, { min: 1, max: 3600 }),
  /** Its file `gateway.db` is the database, unless `DATABASE_URL` names one. */
  GATEWAY_DATA_DIR: z.string().default('.data'),
  /** A PostgreSQL. */
  DATABASE_URL: setting.databaseUrl().optional(),
  USAGE_RECORDS_DAYS: setting.keepRecordsDays(),
  USAGE_SUMS_DAYS: setting.keepSumsDays(),
  /** A stored conversation that was not used for so long moves from Redis to the database; 0: none does. */
  CONVERSATIONS_MOVE_AFTER_SECONDS: setting.integer(6 * 3600),
  /** The bearer token of this service. It lets its owner make keys. */
  GATEWAY_ADMIN_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .regex(/^\P{Cc}*$/u, 'must be on one line, without control characters'),
  /** Where callers reach the gateway: shown with the settings of clients. Default: this machine at `PORT`. */
  PUBLIC_URL: setting.url().optional(),
  PORT: setting.port(8080),
  /** Where browsers reach this service, with the path below which a proxy has it. */
  CONSOLE_URL: setting.url().optional(),
  /** Where a person sees a trace, for links of the console. */
  TRACE_URL: setting
    .url()
    .refine(
      (template) => template.search(TRACE_ID_PLACE) >= 0,
      'must have {traceId} where the id of the trace belongs',
    )
    .optional(),
  /** Further names under which this service is reached; `*.example.com` for all below one. */
  ADMIN_ALLOWED_HOSTS: setting.texts(),
  /** Whether a proxy of one's own is before this service, which says the address of each client in `x-forwarded-for`. */
  ADMIN_TRUST_PROXY: z.stringbool().default(false),
  /** The identity provider of OpenID Connect; `sessions/oidc/oidc-settings.ts` checks how these fit together. */
  OIDC_ISSUER: setting.url().optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  /** As the button says it: "Sign in with NAME". */
  OIDC_NAME: z.string().max(60).default('OpenID Connect'),
  OIDC_SCOPES: z.string().default('openid profile email'),
  /** The claim whose values stand for roles; a path where it lies deeper. */
  OIDC_ROLE_CLAIM: z.string().default('groups'),
  OIDC_ADMIN_VALUES: setting.texts(),
  OIDC_VIEWER_VALUES: setting.texts(),
  /** The claim that names a team lead's teams, after a prefix. Default: that of the roles. */
  OIDC_TEAM_CLAIM: z.string().optional(),
  OIDC_TEAM_PREFIX: z.string().optional(),
  /** Where this service reaches the edge, for the playground. Default: this machine at `PORT`. */
  EDGE_URL: setting.url().optional(),
  /** When a session of the console ends, in hours: since it was opened, and without use. */
  CONSOLE_SESSION_HOURS: setting.integer(12, { min: 1, max: 24 * 30 }),
  CONSOLE_SESSION_IDLE_HOURS: setting.integer(2, { min: 1, max: 24 * 30 }),
  /** Set by `npm start`: the command line recognises this service by it. */
  ADMIN_INSTANCE_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
});
export type AdminConfig = z.infer<typeof AdminConfig>;

export const publicUrlOf = ({ PUBLIC_URL, PORT }: AdminConfig): string =>
  PUBLIC_URL ?? `http://127.0.0.1:${PORT}`;

export const edgeUrlOf = ({ EDGE_URL, PORT }: AdminConfig): string => EDGE_URL ?? `http://127.0.0.1:${PORT}`;
