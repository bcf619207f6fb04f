import type { Environment } from '@gateway/contracts/environment';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import type { Preset } from '@gateway/upstream/configuration/presets/preset';
import { PRESETS } from '@gateway/upstream/configuration/presets/presets';
import { type ListedModels, listModels } from '@gateway/upstream/listing/list-models';
import { tryModel } from '@gateway/upstream/listing/try-model';
import { KNOWN_MODELS } from '@gateway/upstream/prices/known-models';
import { MODEL_KINDS } from '@gateway/upstream/protocol';
import { describedChannel } from './described-channel.ts';
import { identityType, usualVariable } from './offers.ts';
import type { ProviderTrial, TriedProvider } from './provider-trial.ts';
import { kindOf, speaksKind, writtenModels } from './written-models.ts';

type Outcome = TriedProvider['outcome'];

const MAX_MODELS = 2000;
const MAX_NAME_CHARS = 256;
const MAX_AT_ONCE = 8;

const ADVICE: Readonly<Record<Outcome, string | null>> = {
  listed: null,
  accepted:
    'The key is valid. Requests name the deployments of your resource, which it does not list: name those that callers may use.',
  unlisted:
    'This kind of provider lists no models, so nothing was asked. Name a model that callers may use to try it, or go on without.',
  untried: 'Enter the key to try it, or continue without a trial.',
  refused: 'Check that the key is whole, still valid, and made for this provider and address.',
  failed: 'Check the address and the kind of provider.',
  unreachable:
    'Check the address, that the server runs, and that this machine may reach it. In a container, 127.0.0.1 is the container itself: use the name of the host, such as host.docker.internal.',
};
/** The same where the credentials of the machine are tried. */
const ADVICE_ON_IDENTITY: Readonly<Partial<Record<Outcome, string>> & { readonly untried: string }> = {
  accepted:
    'The credentials of the machine are valid. Requests name the deployments of your resource, which it does not list: name those that callers may use.',
  refused: 'Check that the machine has credentials of this cloud, and that they may call its models.',
  untried: 'Leave the address empty to try them, or continue without a trial.',
};
const NO_MODELS = 'The server has no models yet. Load one there, then try again.';

/**
 * Asks the provider of a channel that nobody has yet for its models. At most eight are asked at a time, each for 10 seconds.
 *
 * @throws {GatewayError} `invalid_value` for a channel that the configuration would refuse, `overloaded`
 */
export type TryProvider = (trial: ProviderTrial) => Promise<TriedProvider>;

export function createTryProvider(env: Environment): TryProvider {
  let running = 0;
  return async (trial) => {
    if (running >= MAX_AT_ONCE)
      throw new GatewayError('overloaded', {
        message: `${MAX_AT_ONCE} providers are being tried already. Try again in a few seconds.`,
      });
    running += 1;
    try {
      return await tryProvider(trial, env);
    } finally {
      running -= 1;
    }
  };
}

async function tryProvider(trial: ProviderTrial, env: Environment): Promise<TriedProvider> {
  const { name, provider, baseUrl, settings, key, variable, model } = trial;
  if (trial.identity) return tryIdentity(trial, env);
  const value = key ?? keyIn(trial, env);
  // A key stands in for one that is not tried, so that all else is checked.
  const apiKey = value ?? (variable === undefined ? undefined : 'not-tried');
  const texts = { ...settings, provider, ...(baseUrl && { baseUrl }), ...(apiKey && { apiKey }) };
  const channel = channelOf(name, literally(texts), env);
  if (value === null) return result(channel, { outcome: 'untried', reason: untriedReason(trial) });
  return asked(channel, model);
}

/** With the credentials of this machine, which go nowhere but to their own cloud. */
async function tryIdentity(
  { name, provider, baseUrl, settings, model }: ProviderTrial,
  env: Environment,
): Promise<TriedProvider> {
  const preset = Object.entries<Preset>(PRESETS).find(([known]) => known === provider)?.[1];
  const type = preset === undefined ? null : identityType(preset);
  if (type === null)
    throw new GatewayError('invalid_value', { message: `identity: the provider ${provider} has keys only.` });
  const auth = type === 'entra' ? { type, managedIdentity: true } : { type };
  const entry = { ...literally({ ...settings, provider, baseUrl }), auth };
  const channel = channelOf(name, entry, env);
  if (baseUrl !== undefined)
    return {
      ...result(channel, {
        outcome: 'untried',
        reason: "The credentials of the machine are sent to the provider's own address only.",
      }),
      advice: ADVICE_ON_IDENTITY.untried,
    };
  const { advice, ...found } = await asked(channel, model);
  return {
    ...found,
    advice: found.proposal.length > 0 ? advice : (ADVICE_ON_IDENTITY[found.outcome] ?? advice),
  };
}

/** Its list, or where there is none the model that was named. */
async function asked(channel: Channel, model: string | undefined): Promise<TriedProvider> {
  const [account] = channel.accounts;
  const found = await listModels(channel, account);
  if (found.outcome !== 'unlisted' || model === undefined) return result(channel, found);
  const tried = await tryModel(channel, account, { model });
  return tried.outcome === 'accepted' ? answered(channel, model) : result(channel, tried);
}

function answered(channel: Channel, model: string): TriedProvider {
  return {
    ...result(channel, { outcome: 'accepted' }),
    advice: 'The model answers. This provider lists none: name the others that callers may use.',
    proposal: proposalOf(channel, [model]),
  };
}

const proposalOf = (channel: Channel, names: readonly string[]): TriedProvider['proposal'] =>
  Object.entries(writtenModels(channel, names, new Set()).models).map(([name, entry]) => ({ name, entry }));

/** The variable's value; undefined: none is named. Null: it is not known here, or not sent to this address. */
function keyIn({ provider, baseUrl, variable }: ProviderTrial, env: Environment): string | null | undefined {
  if (variable === undefined) return undefined;
  return mayBeSent({ provider, baseUrl, variable }) ? lookUp(env, variable) || null : null;
}

/** Permission to try a provider is no permission to read this process's variables: a value is sent only to the provider that it belongs to. */
function mayBeSent({ provider, baseUrl, variable }: Omit<ProviderTrial, 'name'>): boolean {
  const own = Object.entries(PRESETS).find(([name]) => name === provider)?.[1].baseUrl ?? null;
  return variable === usualVariable(provider) && baseUrl === undefined && own !== null && !own.includes('{');
}

const untriedReason = (trial: ProviderTrial): string =>
  mayBeSent(trial)
    ? `The admin service has no variable ${trial.variable}, and the services may have it.`
    : `The value of ${trial.variable} was not sent: only ${usualVariable(trial.provider)} is, and only to the provider's own address.`;

/** Nothing that somebody typed is replaced by a variable of this process. */
const literally = (texts: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, text.replaceAll('${', '$$$${')]],
    ),
  );

function channelOf(name: string, entry: object, env: Environment): Channel {
  try {
    return describedChannel(name, entry, env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [mistake] = error.mistakes;
    throw new GatewayError('invalid_value', {
      message: `${mistake?.path}: found ${mistake?.found}, expected ${mistake?.expected}.`,
    });
  }
}

type Found = ListedModels | { readonly outcome: 'untried'; readonly reason: string };

function result(channel: Channel, found: Found): TriedProvider {
  const { outcome } = found;
  const isListed = outcome === 'listed';
  const listed = isListed ? found.names.filter((name) => name.length <= MAX_NAME_CHARS) : [];
  const names = isListed ? currentFirst(channel, listed) : currentNames(channel);
  const models = names.map((name) => ({ name, kind: kindOf(channel, name) }));
  const usable = models.filter(({ kind }) => speaksKind(channel, kind)).slice(0, MAX_MODELS);
  return {
    outcome,
    reason: 'reason' in found ? found.reason : null,
    advice: isListed && listed.length === 0 ? NO_MODELS : ADVICE[outcome],
    models: usable,
    omitted: isListed ? found.names.length - usable.length : 0,
    proposal: isListed ? proposalOf(channel, listed) : [],
  };
}

const currentNames = (channel: Channel): string[] =>
  MODEL_KINDS.filter((kind) => speaksKind(channel, kind)).flatMap((kind) =>
    KNOWN_MODELS.list(channel.provider, kind),
  );

/** A list of everything that a provider ever had begins with what somebody looks for. */
function currentFirst(channel: Channel, names: readonly string[]): string[] {
  const current = new Set(currentNames(channel));
  return names.toSorted((a, b) => Number(current.has(b)) - Number(current.has(a)));
}
