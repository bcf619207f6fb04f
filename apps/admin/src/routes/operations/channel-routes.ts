import { GatewayError } from '@gateway/contracts/gateway-error';
import { renamed } from '@gateway/contracts/models/model-pattern';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { KEY_ID } from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { Channel, Configuration, Model } from '@gateway/upstream/configuration/configuration';
import { SafeName } from '@gateway/upstream/configuration/file-schema';
import type { CredentialState } from '@gateway/upstream/credentials/credential-states';
import type { CountsByChannel } from '@gateway/upstream/health/attempt-counts';
import type { Target } from '@gateway/upstream/health/targets/target';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { ChannelPage, RestedChannelReply } from '../../api/schemas/operations.ts';
import { configurationOf, type ReadConfiguration } from '../../configuration/read-configuration.ts';
import { entryOf } from '../../findings/routes.ts';
import type { ChannelRests } from '../../operations/channel-rests.ts';
import { chargedKey } from '../../playground/charged-key.ts';
import { ChannelTest, type TestChannel } from '../../playground/test-channel.ts';

interface ChannelRoutesOptions {
  readonly readConfiguration: ReadConfiguration;
  readonly rests: ChannelRests;
  readonly keys: Pick<KeyStore, 'getKey' | 'listKeys'>;
  readonly now: () => number;
  readonly testChannel: TestChannel;
  /** How many slots of these accounts are held, in their order. */
  readonly heldSlots: (
    accounts: readonly { channel: string; account: string }[],
  ) => Promise<readonly number[]>;
  /** How an account's credentials stand; null: it has a key, or no process has asked for any. */
  readonly credentialStates: () => Promise<
    (names: { channel: string; account: string }) => CredentialState | null
  >;
  /** How attempts of the last so many milliseconds ended. */
  readonly attemptCounts: (lastMs: number) => Promise<CountsByChannel>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const MAX_REST_SECONDS = 30 * 86_400;
const name = z.string().min(1).max(256);

const TargetBody = z.strictObject({
  account: name.nullish(),
  /** The callers' name of a model, or the channel's own. */
  model: name.nullish(),
});
const TestBody = z.strictObject({
  /** The id of the key under which the request counts. Absent: the only key that can be used. */
  keyId: z.string().regex(KEY_ID, 'it is not the id of a key').optional(),
  /** The callers' name of a text model. Absent: the first that has a route to the channel. */
  model: name.optional(),
});
const WakeBody = TargetBody.default({});
const RestBody = TargetBody.extend({
  /** Absent: until it is woken. */
  seconds: z.number().positive().max(MAX_REST_SECONDS).optional(),
  reason: z.string().min(1).max(200).optional(),
}).default({});

/** The channels as they are configured, without their secrets; what of them rests, and a person's orders about that. */
export const channelRoutes = ({
  readConfiguration,
  rests,
  keys,
  now,
  testChannel,
  heldSlots,
  attemptCounts,
  credentialStates,
}: ChannelRoutesOptions): AdminRoute[] => {
  const reply = async (channel: string, warnings: readonly string[]) => ({
    name: channel,
    rests: (await rests.list()).get(channel) ?? [],
    warnings,
  });

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/channels',
      summary: 'The configured channels, and what is resting in them',
      query: NO_QUERY,
      body: NO_BODY,
      reply: ChannelPage,
      handle: async () => {
        const configuration = await configurationOf(readConfiguration);
        const byChannel = await rests.list();
        const channels = [...configuration.channels.values()];
        const bounded = channels.flatMap(({ name: channel, accounts }) =>
          accounts.flatMap(({ name, maxConcurrent }) =>
            maxConcurrent === null ? [] : [{ channel, account: name }],
          ),
        );
        const [counts, lastHour, lastDay, stateOf] = await awaitRedis(
          Promise.all([
            heldSlots(bounded),
            attemptCounts(HOUR_MS),
            attemptCounts(DAY_MS),
            credentialStates(),
          ]),
        );
        const inFlight = (channel: string, account: string): number | null => {
          const at = bounded.findIndex((one) => one.channel === channel && one.account === account);
          return counts[at] ?? null;
        };
        const data = channels.map((channel) => ({
          name: channel.name,
          provider: channel.provider,
          origin: channel.origin,
          speaks: [...channel.speaks],
          accounts: channel.accounts.map(({ name, weight, maxConcurrent, secrets }) => ({
            name,
            weight,
            maxConcurrent,
            inFlight: inFlight(channel.name, name),
            credentials:
              secrets.auth === null ? null : shownState(stateOf({ channel: channel.name, account: name })),
          })),
          maxConcurrentPerProcess: channel.maxConcurrentPerProcess,
          onDisconnect: channel.onDisconnect,
          models: modelsOf(configuration, channel.name).map(({ pattern }) => pattern),
          rests: byChannel.get(channel.name) ?? [],
          attempts: {
            lastHour: lastHour.get(channel.name) ?? {},
            lastDay: lastDay.get(channel.name) ?? {},
          },
        }));
        return { data, next: null };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/channels/{name}/rest',
      summary:
        'Rest a channel, one of its accounts or one model on it; takes effect everywhere within a second',
      query: NO_QUERY,
      body: RestBody,
      reply: RestedChannelReply,
      handle: async ({ parameter: channel, body: { seconds, reason, ...body }, by }) => {
        const configuration = await readConfiguration();
        const target = targetOf(channel, body, configuration);
        await rests.rest({ ...target, seconds: seconds ?? null, reason: reason ?? null }, by);
        return reply(channel, warningsOf(target, configuration));
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/channels/{name}/wake',
      summary:
        'End the rests of a channel, of one of its accounts or of one model on it, including those that the gateway started',
      query: NO_QUERY,
      body: WakeBody,
      reply: RestedChannelReply,
      handle: async ({ parameter: channel, body, by }) => {
        await rests.wake(targetOf(channel, body, await readConfiguration()), by);
        return reply(channel, []);
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/channels/{name}/test',
      summary:
        'Send a minimal text request to this channel only, even if it is resting, and return the outcome',
      query: NO_QUERY,
      body: TestBody,
      reply: ChannelTest,
      handle: async ({ parameter: channel, body: { keyId, model } }) => {
        const configuration = await configurationOf(readConfiguration);
        targetOf(channel, {}, configuration);
        const testedModel = model ?? textModelOf(configuration, channel);
        return testChannel({ channel, keyId: await chargedKey(keyId, { keys, now }), model: testedModel });
      },
    }),
  ];
};

const shownState = (state: CredentialState | null) => {
  if (state === null) return null;
  const { source, expiresAtMs, failure, atMs } = state;
  return {
    source,
    expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    failure,
    at: new Date(atMs).toISOString(),
  };
};

const modelsOf = ({ models }: Configuration, channel: string): Model[] =>
  models.filter(({ routes }) => routes.some((route) => route.channel.name === channel));

/** A text model's name that callers use and that leads to the channel. */
function textModelOf(configuration: Configuration, channel: string): string {
  const patterns = modelsOf(configuration, channel)
    .filter(({ kind }) => kind === 'text')
    .map(({ pattern }) => pattern);
  const model = patterns.find((pattern) => !pattern.includes('*'));
  if (model !== undefined) return model;
  throw new GatewayError('missing_required_parameter', {
    path: ['model'],
    message:
      patterns.length === 0
        ? `The channel '${channel}' has no text model, and only those can be tested.`
        : `Name a model: the channel '${channel}' has patterns only (${patterns.join(', ')}).`,
  });
}

/** Names and accounts are checked against the configuration; while it cannot be read, any channel's name will do. */
function targetOf(
  channel: string,
  { account, model }: z.infer<typeof TargetBody>,
  configuration: Configuration | undefined,
): Target {
  const known = configuration?.channels.get(channel);
  if (configuration === undefined ? !SafeName.test(channel) : known === undefined)
    throw new GatewayError('object_not_found', `There is no channel '${channel}'.`);
  if (known !== undefined && account) checkAccount(known, account);
  const own = model ? ownNameOf(channel, model, configuration) : null;
  return { channel, account: account ?? null, model: own };
}

function checkAccount({ name: channel, accounts }: Channel, account: string): void {
  const names = accounts.map(({ name }) => name);
  if (names.includes(account)) return;
  throw new GatewayError('invalid_value', {
    message: `The channel '${channel}' has no account '${account}'. It has: ${names.join(', ')}.`,
    path: ['account'],
  });
}

/** People know the callers' name of a model; the channel may have another one for it. */
function ownNameOf(channel: string, name: string, configuration: Configuration | undefined): string {
  const entry = entryOf(configuration, name);
  const own = entry?.routes.find((route) => route.channel.name === channel)?.model;
  if (entry === undefined || own === undefined || own === null) return name;
  return renamed(name, entry.pattern, own);
}

/** The models that have no other channel: their requests go on as before. */
function warningsOf({ channel, account, model }: Target, configuration: Configuration | undefined): string[] {
  if (configuration === undefined || account !== null) return [];
  return modelsOf(configuration, channel)
    .filter(({ pattern, routes }) =>
      routes.every(
        (route) => route.channel.name === channel && (model === null || (route.model ?? pattern) === model),
      ),
    )
    .map(({ pattern }) => `'${pattern}' has no other channel: requests for it still go to this one.`);
}
