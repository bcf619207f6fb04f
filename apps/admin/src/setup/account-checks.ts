import type {
  Account,
  Channel,
  Configuration,
  Model,
  Route,
} from '@gateway/upstream/configuration/configuration';
import { type ListedModels, listModels } from '@gateway/upstream/listing/list-models';
import { tryModel } from '@gateway/upstream/listing/try-model';
import { table } from '../cli/texts/table.ts';

/** What became of asking one account's provider for its models, or, where it lists none, for a few tokens of one. */
export interface AccountCheck {
  readonly channel: string;
  readonly account: string;
  readonly found: ListedModels;
  /** The model that was asked; null: the list was. */
  readonly asked: string | null;
}

const MAX_AT_ONCE = 16;
const MAX_NAMES_SHOWN = 20;

/** Asks every account's provider for its models, or the first text model that a route names there; at most 16 at a time. */
export async function checkAccounts({
  channels,
  models,
}: Pick<Configuration, 'channels' | 'models'>): Promise<AccountCheck[]> {
  const accounts = [...channels.values()].flatMap((channel) =>
    channel.accounts.map((account) => ({ channel, account })),
  );
  const checks: AccountCheck[] = [];
  for (let from = 0; from < accounts.length; from += MAX_AT_ONCE) {
    const some = accounts.slice(from, from + MAX_AT_ONCE).map(async ({ channel, account }) => ({
      channel: channel.name,
      account: account.name,
      ...(await checkAccount(channel, account, models)),
    }));
    checks.push(...(await Promise.all(some)));
  }
  return checks;
}

async function checkAccount(
  channel: Channel,
  account: Account,
  models: readonly Model[],
): Promise<Pick<AccountCheck, 'found' | 'asked'>> {
  const found = await listModels(channel, account);
  const named = models.flatMap((model) =>
    (model.kind === 'text' ? model.routes : []).flatMap((route) => {
      const name = route.channel.name === channel.name ? nameAt(model, route) : null;
      return name === null ? [] : [{ model: name, speaks: route.speaks }];
    }),
  );
  const [asked] = named;
  if (found.outcome !== 'unlisted' || asked === undefined) return { found, asked: null };
  return { found: await tryModel(channel, account, asked), asked: asked.model };
}

export const isTrouble = ({ found }: AccountCheck): boolean =>
  !['listed', 'accepted', 'unlisted'].includes(found.outcome);

/** A line for each account: what its provider said, and what to do. */
export const checksTable = (checks: readonly AccountCheck[]): string =>
  table(
    { CHANNEL: 'channel', ACCOUNT: 'account', STATE: 'state' },
    checks.map((check) => ({ channel: check.channel, account: check.account, state: stateOf(check) })),
    0,
  );

function stateOf({ channel, found, asked }: AccountCheck): string {
  if ('reason' in found) {
    const reason = asked === null ? found.reason : `${asked}: ${found.reason}`;
    return found.outcome === 'refused' ? `refused: ${reason}` : reason;
  }
  if (found.outcome === 'listed')
    return `ready, ${found.names.length} ${found.names.length === 1 ? 'model' : 'models'}`;
  if (found.outcome === 'unlisted')
    return `not asked, because it lists no models. Once the gateway runs: npm run gateway -- channels test ${channel}`;
  return asked === null ? 'ready; its deployments are not listed' : `ready, ${asked} answers`;
}

/**
 * A line for each route to a model that none of its channel's accounts list; empty: there is none. Aliases are often not listed, so such a
 * route may be right.
 */
export function unlistedRoutes(models: readonly Model[], checks: readonly AccountCheck[]): string {
  const named = models.flatMap((model) => model.routes.map((route) => ({ model, route })));
  const lines = named.flatMap(({ model, route }) => {
    const name = nameAt(model, route);
    const lists = checks.flatMap(({ channel, found }) =>
      channel === route.channel.name && found.outcome === 'listed' ? [found.names] : [],
    );
    const isListed = lists.some((names) => names.includes(name ?? '') || names.includes(`${name}:latest`));
    return name === null || lists.length === 0 || isListed
      ? []
      : [`  ${model.pattern}: ${route.channel.name} does not list ${name}`];
  });
  const more = lines.length - MAX_NAMES_SHOWN;
  return [...lines.slice(0, MAX_NAMES_SHOWN), ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}

/** Null: the caller's name decides. */
const nameAt = ({ pattern, isPattern }: Model, { model }: Route): string | null => {
  const name = model ?? (isPattern ? '*' : pattern);
  return name.includes('*') ? null : name;
};
