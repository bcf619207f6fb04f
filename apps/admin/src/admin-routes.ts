import { DEFAULT_THRESHOLDS } from '@gateway/contracts/findings';
import { signAssetUrl } from '@gateway/jobs/files/asset-url';
import type { JobList } from '@gateway/jobs/records/job-list';
import { createOperatedJobs } from '@gateway/jobs/records/operated-jobs';
import { createWebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import type { ReportBroken } from '@gateway/metering/broken-records';
import type { KeyFinder } from '@gateway/metering/keys/find-key';
import { hashOf } from '@gateway/metering/keys/key-secret';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { Passes } from '@gateway/metering/keys/pass';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { readSpoolState } from '@gateway/metering/meter/spool-state';
import { createTeamStore } from '@gateway/metering/teams/team-store';
import { createRecordTail } from '@gateway/metering/usage/record-tail';
import { createContentReader } from '@gateway/model-service/content-log/content-reader';
import { createContentStore } from '@gateway/model-service/content-log/content-store';
import type { Records } from '@gateway/records/open-records';
import type { Life } from '@gateway/service-kit/life/life';
import type { Logger } from '@gateway/service-kit/logger';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { readHeldSlots } from '@gateway/upstream/choosing/lease-store';
import { environmentNetwork } from '@gateway/upstream/connecting/network';
import { readCredentialStates } from '@gateway/upstream/credentials/credential-states';
import { readAttemptCounts, readAttemptSlices } from '@gateway/upstream/health/attempt-counts';
import type { Redis } from 'ioredis';
import { openAlerts } from './alerts/open-alerts.ts';
import type { AdminRoute } from './api/admin-route.ts';
import { withOpenapi } from './api/openapi.ts';
import { type AdminConfig, edgeUrlOf, publicUrlOf } from './config.ts';
import { createTextCheck } from './configuration/check-text.ts';
import { createConfigurationState } from './configuration/configuration-state.ts';
import { createCompareCosts } from './configuration/costs/draft-costs.ts';
import type { OpenConfiguration } from './configuration/open-configuration.ts';
import { createConfigurationReader } from './configuration/read-configuration.ts';
import { createTryDraft } from './configuration/try-draft.ts';
import { createWarnings } from './configuration/warnings.ts';
import { createFindings } from './findings/read-findings.ts';
import { createBalanceReader } from './keys/balances.ts';
import { keysOfOwner } from './keys/keys-of-owner.ts';
import { createReserveAgain } from './keys/reserve-again.ts';
import { createChannelRests } from './operations/channel-rests.ts';
import { createLinkLimits } from './people/link-limits.ts';
import { createLinkMail } from './people/link-mail.ts';
import { createPasswordAttempts } from './people/password-attempts.ts';
import { createPasswordHashes } from './people/password-hash.ts';
import { createTestChannel } from './playground/test-channel.ts';
import { createFindRequest } from './requests/find-request.ts';
import { createContentNote, createErasureNote } from './requests/note-content.ts';
import { createRequestTail } from './requests/request-tail.ts';
import { createShowRequest } from './requests/shown-request.ts';
import { groupRoutes } from './routes/access/group-routes.ts';
import { keyRoutes } from './routes/access/key-routes.ts';
import { oidcRoutes } from './routes/access/oidc-routes.ts';
import { passwordRoutes } from './routes/access/password-routes.ts';
import { peopleRoutes } from './routes/access/people-routes.ts';
import { withRoles } from './routes/access/role-routes.ts';
import { searchRoutes } from './routes/access/search-routes.ts';
import { sessionRoutes } from './routes/access/session-routes.ts';
import { teamRoutes } from './routes/access/team-routes.ts';
import { alertRoutes } from './routes/operations/alert-routes.ts';
import { attentionRoutes } from './routes/operations/attention-routes.ts';
import { auditRoutes } from './routes/operations/audit-routes.ts';
import { channelRoutes } from './routes/operations/channel-routes.ts';
import { configurationRoutes, gatewayRoutes } from './routes/operations/configuration-routes.ts';
import { jobRoutes } from './routes/operations/job-routes.ts';
import { modelRoutes } from './routes/operations/model-routes.ts';
import { providerRoutes } from './routes/operations/provider-routes.ts';
import { revisionRoutes } from './routes/operations/revision-routes.ts';
import { webhookRoutes } from './routes/operations/webhook-routes.ts';
import { contentRoutes } from './routes/traffic/content-routes.ts';
import { requestRoutes } from './routes/traffic/request-routes.ts';
import { usageRoutes } from './routes/traffic/usage-routes.ts';
import type { AddressOf } from './sessions/client-address.ts';
import { createFlowCookies } from './sessions/oidc/flow-cookie.ts';
import { createIdentityProvider } from './sessions/oidc/identity-provider.ts';
import type { OidcSettings } from './sessions/oidc/oidc-settings.ts';
import { createOpenSession } from './sessions/open-session.ts';
import type { SessionCookies } from './sessions/session-cookie.ts';
import type { SessionStore } from './sessions/session-store.ts';
import { createSignIn } from './sessions/sign-in.ts';
import { createSignInAttempts } from './sessions/sign-in-attempts.ts';
import { createSignInMetrics } from './sessions/sign-in-metrics.ts';

export interface AdminRoutesOptions {
  readonly config: AdminConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redis: Redis;
  readonly now: () => number;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly onBroken: ReportBroken;
  readonly records: Records;
  readonly jobs: JobList;
  /** Aborted when the service begins to stop: streams end. */
  readonly stopping: AbortSignal;
  readonly sessions: SessionStore;
  readonly cookies: SessionCookies;
  /** The path below which browsers see this service. */
  readonly basePath: string;
  /** Throws for anything but the admin token. */
  readonly checkToken: (authorization: string | undefined) => void;
  readonly addressOf: AddressOf;
  readonly keys: KeyStore;
  readonly keyFinder: KeyFinder;
  readonly passes: Passes;
  /** Has what is opened closed when the service stops. */
  readonly own: Life['own'];
  /** Null: no identity provider is set. */
  readonly oidc: OidcSettings | null;
  readonly configuration: OpenConfiguration;
}

/** The most requests of a second that are shown as they end. */
const MAX_TAILED = 500;

/** Every call of the admin API. */
export function adminRoutes(options: AdminRoutesOptions): readonly AdminRoute[] {
  const {
    config,
    env,
    redis,
    now,
    logger,
    metrics,
    onBroken,
    records,
    jobs,
    sessions,
    cookies,
    basePath,
    checkToken,
    addressOf,
    keys,
    keyFinder,
    passes,
    oidc,
    configuration,
  } = options;
  const { usage, people } = records;
  const { stored } = configuration;
  const timeZone = config.GATEWAY_TIME_ZONE;
  const attempts = createSignInAttempts(redis, 'sign-in');
  const signInMetrics = createSignInMetrics(metrics);
  const signIn = createSignIn({ sessions, attempts, addressOf, logger, metrics: signInMetrics });
  const maxSeconds = config.CONSOLE_SESSION_HOURS * 3600;
  const openSession = createOpenSession({ signIn, cookies, maxSeconds });
  const passwords = { hashes: createPasswordHashes(), attempts: createPasswordAttempts(redis) };
  const teams = createTeamStore({ records: records.access, now, onBroken });
  const readConfiguration = createConfigurationReader({ path: config.GATEWAY_CONFIG, env, stored });
  const readConfigurationState = createConfigurationState({ path: config.GATEWAY_CONFIG, env, stored });
  const rests = createChannelRests({ redis, now });
  const contentStores = options.own(createContentStore(config), (stores) => stores.close());
  const find = createFindRequest(usage);
  const keysOf = keysOfOwner(keys);
  const readBalances = createBalanceReader({ redis, now, timeZone });
  const ledger = createLedger({
    redis,
    now,
    keepRecordsDays: config.USAGE_RECORDS_DAYS,
  });
  const webhooks = createWebhookLog(redis, (error) => logger.warn({ err: error }, 'webhooks'));
  const credentialStates = () => readCredentialStates(redis);
  const readFindings = createFindings({
    usage,
    now,
    keys,
    teams,
    readBalances,
    rests,
    jobs,
    readConfigurationState,
    readConfiguration,
    credentialStates,
    attemptSlices: (lastMs) => readAttemptSlices(redis, { nowMs: now(), lastMs }),
    readSpool: () => readSpoolState(config.GATEWAY_DATA_DIR),
    thresholds: async () => (await readConfiguration())?.alerts.thresholds ?? DEFAULT_THRESHOLDS,
    pingRedis: () => redis.ping(),
    onUnreadable: (source, error) =>
      logger.warn({ err: error, source }, 'what needs attention cannot be read in whole'),
  });
  const alerts = options.own(
    openAlerts({
      redis,
      redisUrl: config.REDIS_URL,
      readConfiguration,
      readFindings,
      usage,
      timeZone,
      consoleUrl: config.CONSOLE_URL ?? null,
      isPrivateAllowed: config.WEBHOOK_PRIVATE_NETWORKS,
      network: environmentNetwork(env),
      now,
      logger,
      metrics,
      everyMs: config.ALERTS_EVERY_SECONDS * 1000,
    }),
    (opened) => opened.close(),
  );
  const show = createShowRequest(config.TRACE_URL);
  return withOpenapi(
    withRoles([
      ...sessionRoutes({
        sessions,
        cookies,
        openSession,
        checkToken,
        keys: keyFinder,
        hashSecret: (secret) => hashOf(secret, config.GATEWAY_SECRET),
        people,
        ...passwords,
        addressOf,
        now,
      }),
      ...passwordRoutes({
        people,
        ...passwords,
        guesses: createSignInAttempts(redis, 'link'),
        sessions,
        openSession,
        addressOf,
        now,
      }),
      ...peopleRoutes({
        people,
        teams,
        sessions,
        links: createLinkLimits(redis),
        sendLink: createLinkMail({
          readConfiguration,
          isPrivateAllowed: config.WEBHOOK_PRIVATE_NETWORKS,
          network: environmentNetwork(env),
          logger,
          metrics,
        }),
        consoleUrl: config.CONSOLE_URL ?? null,
        basePath,
        now,
      }),
      ...groupRoutes({ people, mapping: oidc?.mapping ?? null }),
      ...oidcRoutes({
        basePath,
        oidc: oidc && {
          name: oidc.name,
          provider: createIdentityProvider(oidc, environmentNetwork(env), now),
          mapping: oidc.mapping,
          flows: createFlowCookies({
            gatewaySecret: config.GATEWAY_SECRET,
            basePath,
            now,
            isSecure: oidc.isSecure,
          }),
          isSecure: oidc.isSecure,
        },
        people,
        cookies,
        signIn,
        addressOf,
        maxSeconds,
        logger,
        metrics: signInMetrics,
      }),
      ...keyRoutes({ keys, warnings: createWarnings({ teams, readConfiguration }), readBalances, now }),
      ...teamRoutes({ teams, keys, now, readBalances }),
      ...searchRoutes({ keys, teams, sessions, readConfiguration, now }),
      ...usageRoutes({ usage, now, keysOf, keys }),
      ...contentRoutes({
        find,
        content: createContentReader({
          openStores: contentStores.get,
          dataDir: config.GATEWAY_DATA_DIR,
          now,
        }),
        usage,
        now,
        readConfiguration,
        note: createContentNote({ redis, now }),
        noteErased: createErasureNote({ redis, now }),
      }),
      ...requestRoutes({
        usage,
        find,
        now,
        keysOf,
        show,
        tail: createRequestTail({
          show,
          openTail: () => createRecordTail({ redis, now, maxRecords: MAX_TAILED, onBroken }),
          stopping: options.stopping,
        }),
      }),
      ...auditRoutes(records),
      ...channelRoutes({
        readConfiguration,
        rests,
        keys,
        now,
        testChannel: createTestChannel({
          edgeUrl: edgeUrlOf(config),
          passes,
          uptime: () => performance.now(),
        }),
        heldSlots: (accounts) => readHeldSlots(redis, accounts, now()),
        credentialStates,
        attemptCounts: (lastMs) => readAttemptCounts(redis, { nowMs: now(), lastMs }),
      }),
      ...modelRoutes({ readConfiguration, keys }),
      ...configurationRoutes({
        readState: readConfigurationState,
        checkText: createTextCheck(config.GATEWAY_CONFIG),
        draft: configuration.draft,
        compareCosts: createCompareCosts({
          path: config.GATEWAY_CONFIG,
          readBase: configuration.readBase,
          usage,
          now,
          uptime: () => performance.now(),
        }),
        tryDraft: createTryDraft({
          ...{ redis, passes, now, gatewaySecret: config.GATEWAY_SECRET, edgeUrl: edgeUrlOf(config) },
          ...{ draft: configuration.draft, readBase: configuration.readBase },
          readSealed: configuration.readSealed,
          uptime: () => performance.now(),
        }),
        keys,
        now,
      }),
      ...providerRoutes({ env }),
      ...revisionRoutes({ revisions: configuration.revisions, compare: configuration.draft }),
      ...attentionRoutes({ readFindings }),
      ...alertRoutes({ readConfiguration, alerts, timeZone, now }),
      ...gatewayRoutes({ publicUrl: publicUrlOf(config), timeZone }),
      ...webhookRoutes({ webhooks }),
      ...jobRoutes({
        jobs,
        keys,
        operated: createOperatedJobs({ redis, queues: jobs.queues, now }),
        webhooks,
        assetUrl: (id) =>
          signAssetUrl({ publicUrl: publicUrlOf(config), secret: config.GATEWAY_SECRET, id, now: now() }),
        reserveAgain: createReserveAgain({ keys, teams, ledger, timeZone, now }),
      }),
    ]),
  );
}
