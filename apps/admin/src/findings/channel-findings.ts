import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { CredentialState } from '@gateway/upstream/credentials/credential-states';
import type { z } from 'zod';
import type { RestReply } from '../api/schemas/operations.ts';
import { type FindingAction, type Found, found, idOf } from './finding.ts';
import type { FindingSources } from './read-findings.ts';
import { affectedModels } from './routes.ts';
import { instantOf, listed, sentence } from './wording.ts';

type ShownRest = z.infer<typeof RestReply>;

/** Rests that a key or other credentials are the cause of. */
const OF_CREDENTIALS: ReadonlySet<string | null> = new Set(['credentials', 'no-credentials']);

const ACTIONS: readonly FindingAction[] = ['test_channel', 'wake_channel'];
const STUCK = 'Requests that nothing else serves still go there.';

/** What of channels rests, credentials that are refused or run out, and models whose routes rest. */
export async function channelFindings({
  readConfiguration,
  rests,
  credentialStates,
  now,
}: FindingSources): Promise<Found[]> {
  const [configuration, byChannel, stateOf] = await Promise.all([
    readConfiguration(),
    rests.list(),
    credentialStates(),
  ]);
  const resting = [...byChannel].flatMap(([channel, all]) =>
    all.filter(({ state }) => state === 'resting').map((rest) => ({ channel, rest })),
  );
  const byId = new Map<string, Found>();
  const all = [
    ...resting.map(({ channel, rest }) => restFinding(channel, rest, configuration)),
    ...credentialFindings(configuration, stateOf, now()),
    ...routeFindings(configuration, byChannel),
  ];
  // A rest says more of refused credentials than who asked for them last.
  for (const one of all) if (!byId.has(one.finding.id)) byId.set(one.finding.id, one);
  return [...byId.values()];
}

const partOf = ({ account, model }: Pick<ShownRest, 'account' | 'model'>): string =>
  [account && `account '${account}'`, model && `model '${model}'`].filter(Boolean).join(', ');

function restFinding(channel: string, rest: ShownRest, configuration: Configuration | undefined): Found {
  const { scope, account, model, cause, reason, by, since, until } = rest;
  const isWhole = scope === 'channel';
  const what = isWhole ? `The channel '${channel}'` : `On the channel '${channel}', ${partOf(rest)}`;
  const { models, stuck, text } = affectedModels(configuration, { channel, model });
  const common = {
    ...{ subject: channel, since, until },
    // Of an account that rests, the channel's others go on.
    affects:
      text === null ? null : sentence(`${text}${account === null && stuck.length > 0 ? `. ${STUCK}` : ''}`),
    about: { channels: [channel], models },
    actions: [...ACTIONS],
  };
  if (OF_CREDENTIALS.has(cause) && account !== null)
    return found({
      ...common,
      ...{ kind: 'credentials_refused', id: credentialId(channel, account), isUrgent: true },
      sentence: `${what} is not used: ${reason}.`,
      advice:
        'Give the channel valid credentials. It is used again as soon as the file has them, or once it is woken.',
    });
  return found({
    ...common,
    kind: 'channel_resting',
    id: idOf('channel_resting', channel, account ?? '', model ?? ''),
    sentence: `${what} is resting${until === null ? ' until woken' : ''}: ${reason}${by === null ? '' : ` (${by})`}.`,
    advice:
      by === null
        ? 'Send a test request to see whether it works again, or wake it.'
        : 'Wake it when the work is done.',
    isUrgent: isWhole && by === null,
  });
}

const credentialId = (channel: string, account: string): string =>
  idOf('credentials_refused', channel, account);

function credentialFindings(
  configuration: Configuration | undefined,
  stateOf: (names: { channel: string; account: string }) => CredentialState | null,
  nowMs: number,
): Found[] {
  return [...(configuration?.channels.values() ?? [])].flatMap(({ name: channel, accounts }) =>
    accounts.flatMap(({ name: account, secrets }) => {
      const state = secrets.auth === null ? null : stateOf({ channel, account });
      if (state === null || state.failure === null) return [];
      const { expiresAtMs, failure, source, atMs } = state;
      const isValid = expiresAtMs !== null && expiresAtMs > nowMs;
      const { models, text } = affectedModels(configuration, { channel, model: null });
      const whose = `the account '${account}' of the channel '${channel}'`;
      return [
        found({
          ...(isValid
            ? { kind: 'credentials_expiring' as const, id: idOf('credentials_expiring', channel, account) }
            : { kind: 'credentials_refused' as const, id: credentialId(channel, account) }),
          subject: channel,
          sentence: isValid
            ? `The credentials of ${whose} expire soon and cannot be renewed: ${failure}.`
            : `There are no valid credentials for ${whose}: ${failure}.`,
          affects: text === null ? null : sentence(text),
          advice: `Check ${source}.`,
          about: { channels: [channel], models },
          actions: ['test_channel'],
          since: instantOf(atMs),
          until: null,
          isUrgent: !isValid,
        }),
      ];
    }),
  );
}

/** Models with several channels of which one is left, or none. */
function routeFindings(
  configuration: Configuration | undefined,
  byChannel: ReadonlyMap<string, readonly ShownRest[]>,
): Found[] {
  return (configuration?.models ?? []).flatMap(({ pattern, routes }) => {
    const channels = [...new Set(routes.map(({ channel }) => channel.name))];
    if (channels.length < 2) return [];
    const restOf = (name: string): ShownRest | undefined =>
      byChannel
        .get(name)
        ?.find(
          ({ state, account, model }) =>
            state === 'resting' &&
            account === null &&
            (model === null ||
              routes.some((route) => route.channel.name === name && (route.model ?? pattern) === model)),
        );
    const rests = channels.map((name) => ({ name, rest: restOf(name) }));
    const away = rests.filter(({ rest }) => rest !== undefined).map(({ name }) => name);
    const left = channels.filter((name) => !away.includes(name));
    if (away.length === 0 || left.length > 1) return [];
    const since =
      rests
        .flatMap(({ rest }) => rest?.since ?? [])
        .toSorted()
        .at(-1) ?? null;
    const [last] = left;
    return [
      found({
        kind: 'model_routes',
        subject: pattern,
        sentence:
          last === undefined
            ? `Every channel of the model '${pattern}' is resting.`
            : `The model '${pattern}' has only the channel '${last}' left.`,
        comparison: `${left.length} of ${channels.length} channels; ${listed(away)} ${away.length === 1 ? 'is' : 'are'} resting.`,
        affects: last === undefined ? `${STUCK}` : null,
        advice:
          last === undefined
            ? 'Test the channels and wake one that works, or add a route.'
            : 'Wake a channel that works again, or add a route.',
        about: { models: [pattern], channels: [...away, ...left] },
        actions: [...ACTIONS],
        since,
        isUrgent: last === undefined,
      }),
    ];
  });
}
