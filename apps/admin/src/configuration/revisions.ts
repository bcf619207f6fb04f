import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Actor } from '@gateway/metering/audit/audit-log';
import type { Revision, RevisionHead, RevisionStore } from '@gateway/records/configuration/revision-store';
import { describeChanges } from '@gateway/upstream/configuration/draft/describe-changes';
import type { SealedValues } from '@gateway/upstream/configuration/stored/sealed-values';
import type { Draft } from './draft.ts';
import { refuseMistakes, sealText } from './seal-text.ts';

interface Change {
  /** The revision that was changed; 0: there was none. Absent: whichever is the last one. */
  readonly base?: number | undefined;
  readonly text: string;
  readonly reason: string;
  /** New values of variables that the text names. They are sealed. */
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

/** The configuration in the database: its revisions, of which the last one is in use. */
export interface Revisions {
  latest(): Promise<Revision | undefined>;
  list: RevisionStore['list'];
  /** @throws {GatewayError} `object_not_found` */
  get(number: number): Promise<Revision>;
  /**
   * Makes a text the configuration in use.
   *
   * @throws {GatewayError} `conflict` where another change came in between, `invalid_value` for a text with mistakes
   */
  save(change: Change, by: Actor): Promise<RevisionHead>;
  /** The same with the text of an earlier revision; values that were sealed since then stay. */
  restore(number: number, change: Pick<Change, 'base' | 'reason'>, by: Actor): Promise<RevisionHead>;
}

interface RevisionsOptions {
  readonly store: RevisionStore;
  readonly values: SealedValues;
  readonly draft: Draft;
  /** Brings the latest revision to the services. Rejects while Redis is away: it is brought later then. */
  readonly publish: () => Promise<void>;
}

const MAX_TOLD = 5;

export function createRevisions({ store, values, draft, publish }: RevisionsOptions): Revisions {
  const get = async (number: number): Promise<Revision> => {
    const found = await store.get(number);
    if (found !== undefined) return found;
    throw new GatewayError('object_not_found', `There is no revision ${number} of the configuration.`);
  };

  const save = async (
    { base: changed, text, reason, secrets = {} }: Change,
    by: Actor,
    inherited: Revision['secrets'] = {},
  ): Promise<RevisionHead> => {
    const latest = await store.latest();
    const base = changed ?? latest?.number ?? 0;
    if ((latest?.number ?? 0) !== base) throw await conflict(store, base, latest);
    const { mistakes, changes } = await draft({ text });
    refuseMistakes(mistakes, 'Nothing was saved');
    const before = { ...inherited, ...latest?.secrets };
    const sealed = sealText({ text, secrets, before }, values);
    if (sealed.text === latest?.text && sealed.replaced.length === 0)
      throw new GatewayError('invalid_value', {
        message: 'This is the configuration in use: there is nothing to save.',
        path: ['text'],
      });
    const added = await store.add({
      ...{ base, reason, by, text: sealed.text, secrets: sealed.secrets },
      audit: {
        before: latest === undefined ? null : { revision: latest.number },
        after: {
          ...{ revision: base + 1, reason, changes: changes.map((change) => change.text) },
          ...(sealed.replaced.length > 0 && { sealed: sealed.replaced }),
        },
      },
    });
    if (added === undefined) throw await conflict(store, base, await store.latest());
    // It has happened: who follows the revisions brings it to the services.
    await publish().catch(() => undefined);
    return added;
  };

  return {
    latest: store.latest,
    list: store.list,
    get,
    save: (change, by) => save(change, by),
    restore: async (number, change, by) => {
      const { text, secrets } = await get(number);
      return save({ ...change, text }, by, secrets);
    },
  };
}

/** Says who came first, and with what. */
async function conflict(
  store: RevisionStore,
  base: number,
  latest: Revision | undefined,
): Promise<GatewayError> {
  if (latest === undefined)
    return new GatewayError('conflict', {
      message: 'There is no revision of the configuration yet.',
      path: ['base'],
    });
  const before = await store.get(base);
  const changes = before === undefined ? [] : describeChanges(before.text, latest.text);
  const told = changes.slice(0, MAX_TOLD).map(({ text }) => text);
  const more = changes.length > MAX_TOLD ? [`${changes.length - MAX_TOLD} more`] : [];
  const what = told.length === 0 ? '' : `: ${[...told, ...more].join('; ')}`;
  return new GatewayError('conflict', {
    message: `The configuration has changed since revision ${base}. Revision ${latest.number} by ${latest.author} (${latest.reason})${what}. Load it and make your change again.`,
    path: ['base'],
  });
}
