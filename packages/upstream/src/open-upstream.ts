import { errorMessage } from '@gateway/contracts/error-message';
import type { Redis } from 'ioredis';
import { createLeaseStore } from './choosing/lease-store.ts';
import { loadConfiguration } from './configuration/load-configuration.ts';
import type { StoredConfiguration } from './configuration/stored/stored-configuration.ts';
import { watchConfiguration } from './configuration/watch-configuration.ts';
import type { CredentialReport } from './credentials/credential-sources.ts';
import { createCredentialStates } from './credentials/credential-states.ts';
import { createAttemptCounts } from './health/attempt-counts.ts';
import type { HealthEvents } from './health/channel-health.ts';
import type { Rest } from './health/rests/rest.ts';
import { createRestStore } from './health/rests/rest-store.ts';
import { shareRests } from './health/rests/share-rests.ts';
import { scopeOf } from './health/targets/target.ts';
import { createUpstream, type Upstream, type UpstreamOptions } from './upstream.ts';

export interface OpenUpstreamOptions
  extends Pick<
    UpstreamOptions,
    'onAttempt' | 'onTrouble' | 'onPick' | 'onWait' | 'onHedge' | 'onCredentials'
  > {
  /** The configuration file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration in the database, where that has it. */
  readonly stored?: StoredConfiguration | undefined;
  readonly logger: HealthLogger;
  /** The process's connection, through which replicas share slots of accounts, counts of attempts and, from `follow` on, what rests. */
  readonly redis: Redis;
}

export interface OpenUpstream {
  readonly upstream: Upstream;
  /** Reads what rests, from other replicas and from before a restart, and follows it. Call it once Redis is connected. */
  follow(): Promise<void>;
  /** Aborts the requests in flight, and stops watching the file. */
  close(): Promise<void>;
}

/**
 * The providers of the configuration file, updated when it changes.
 *
 * @throws {ConfigurationError} naming every mistake of the file
 */
export async function openUpstream({
  path,
  env,
  stored,
  logger,
  redis,
  ...observers
}: OpenUpstreamOptions): Promise<OpenUpstream> {
  const configuration = await loadConfiguration({ path, env, stored });
  const sharing = shareRests({
    store: createRestStore(redis),
    clock: () => performance.now(),
    onProblem: (error) => logger.warn({ err: error }, 'resting channels are not shared with other replicas'),
  });
  const counts = createAttemptCounts({ redis, now: Date.now });
  const states = createCredentialStates({ redis, now: Date.now });
  const logCredentials = credentialLog(logger);
  const upstream = createUpstream({
    configuration,
    sharing,
    ...healthLog(logger),
    leases: createLeaseStore(redis),
    ...observers,
    onAttempt: (attempt) => {
      counts.add(attempt);
      observers.onAttempt?.(attempt);
    },
    onCredentials: (report) => {
      states.add(report);
      logCredentials(report);
      observers.onCredentials?.(report);
    },
  });
  const watch = watchConfiguration({
    path,
    env,
    stored,
    current: configuration,
    onChange: (next) => {
      upstream.replace(next);
      logger.info('the configuration has changed');
    },
    onMistake: (error) => {
      const reason = errorMessage(error);
      logger.error({ reason }, 'the changed configuration is not usable; the previous one stays in force');
    },
  });
  return {
    upstream,
    follow: async () => {
      await states.flush();
      await sharing.follow(upstream.health);
    },
    close: async () => {
      watch.close();
      await upstream.destroy();
      await sharing.close();
      await counts.close();
    },
  };
}

interface HealthLogger {
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Logs each failure to get credentials, and that they could be got again. */
function credentialLog(logger: HealthLogger): (report: CredentialReport) => void {
  const failing = new Set<string>();
  return ({ channel, account, source, expiresAtMs, failure }) => {
    const name = `${channel} ${account}`;
    const fields = { channel, account, source };
    if (failure === null) {
      if (failing.delete(name)) logger.info(fields, 'the credentials of a channel could be renewed again');
      return;
    }
    failing.add(name);
    if (expiresAtMs !== null && expiresAtMs > Date.now())
      logger.warn(
        { ...fields, reason: failure },
        'the credentials of a channel could not be renewed; the present ones are valid',
      );
    else
      logger.error(
        { ...fields, reason: failure },
        'a channel has no credentials: its requests go to other channels',
      );
  };
}

const fieldsOf = (rest: Rest) => ({
  channel: rest.channel,
  account: rest.account,
  model: rest.model,
  cause: rest.cause,
  reason: rest.reason,
});

const secondsOf = ({ sinceMs, untilMs }: Rest): number | null =>
  untilMs === Number.POSITIVE_INFINITY ? null : Math.round((untilMs - sinceMs) / 1000);

/** Logs one line when a rest begins and one when it ends, in the replica that found it out. */
const healthLog = (logger: HealthLogger): Required<Pick<HealthEvents, 'onRestBegan' | 'onRestEnded'>> => ({
  onRestBegan(rest) {
    const scope = scopeOf(rest);
    const fields = { ...fieldsOf(rest), scope, failures: rest.failures, seconds: secondsOf(rest) };
    if (rest.cause === 'credentials')
      logger.error(fields, 'a provider refuses the API key: correct it in the configuration');
    else logger.warn(fields, 'a channel rests');
  },
  onRestEnded(rest, how) {
    logger.info({ ...fieldsOf(rest), scope: scopeOf(rest), how }, 'a channel no longer rests');
  },
});
