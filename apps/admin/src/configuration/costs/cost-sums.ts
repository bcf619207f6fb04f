import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { counted } from '../../findings/wording.ts';
import type { DraftCosts } from './draft-costs.ts';
import type { PricedRecord, Unpriced } from './priced-record.ts';

interface Sum {
  requests: number;
  before: number;
  after: number;
}

/** So many sentences and rows are shown. */
const MAX_SENTENCES = 5;
const MAX_ROWS = 20;
/** A difference below half a cent is none. */
const LEAST_MICRO_USD = 5000;

/** Why requests are not in the figures. */
const REASONS: Readonly<Record<Unpriced, string>> = {
  unpriced: 'without a price',
  unpricedInDraft: 'without a price in the draft',
  unclear: 'whose price is not clear from the record, such as that of a size or a service tier',
  unserved: 'for a model that the draft does not serve',
  unknown: 'by a route that is no longer configured',
};

export interface CostSums {
  /** Null: it cost nothing before and costs nothing after. */
  add(record: UsageRecord, priced: PricedRecord | Unpriced | null): void;
  /** Not all requests were read. */
  cut(): void;
  /** @param requests those of the models that differ */
  result(requests: number): Omit<DraftCosts, 'from' | 'to'>;
}

/** Adds up the costs of requests as they are and as they would be. */
export function createCostSums(): CostSums {
  const total = newSum();
  const byModel = new Map<string, Sum>();
  const byTeam = new Map<string | null, Sum>();
  const byRoute = new Map<string, Sum & { model: string; channel: string }>();
  const byUse = new Map<string, Sum & { model: string; team: string | null }>();
  const left = new Map<Unpriced, number>();
  let isCut = false;
  let hasMoved = false;

  return {
    cut: () => {
      isCut = true;
    },
    add: ({ model, team, channel }, priced) => {
      if (priced === null) {
        total.requests += 1;
        return;
      }
      if (typeof priced === 'string') {
        left.set(priced, (left.get(priced) ?? 0) + 1);
        return;
      }
      const { beforeMicroUsd: before, afterMicroUsd: after, channels, isMoved } = priced;
      hasMoved ||= isMoved;
      const one = { requests: 1, before, after };
      addTo(total, one);
      addTo(sumIn(byModel, model, {}), one);
      addTo(sumIn(byTeam, team, {}), one);
      addTo(sumIn(byUse, JSON.stringify([team, model]), { team, model }), one);
      const routeOf = (name: string) =>
        sumIn(byRoute, JSON.stringify([model, name]), { model, channel: name });
      if (channel !== null) addTo(routeOf(channel), { requests: 0, before, after: 0 });
      for (const { channel: name, share, microUsd } of channels)
        addTo(routeOf(name), { requests: share, before: 0, after: microUsd });
    },
    result: (requests) => ({
      requests,
      compared: total.requests,
      isCut,
      beforeMicroUsd: Math.round(total.before),
      afterMicroUsd: Math.round(total.after),
      sentences: largest(byUse)
        .filter(([, sum]) => Math.abs(sum.after - sum.before) >= LEAST_MICRO_USD)
        .slice(0, MAX_SENTENCES)
        .map(([, use]) => differenceSentence(use)),
      notes: [
        ...(isCut
          ? [
              `${counted(total.requests, 'request')} of ${requests.toLocaleString('en')} were compared: the newest ones, since no more are read at once.`,
            ]
          : []),
        ...(hasMoved
          ? [
              'Where routes or weights differ, each channel is counted with its share by weight; failures and caches may shift it.',
            ]
          : []),
        ...[...left].map(
          ([reason, count]) => `Not in the figures: ${counted(count, 'request')} ${REASONS[reason]}.`,
        ),
      ],
      byModel: largest(byModel).map(([model, sum]) => ({ model, ...shown(sum) })),
      byTeam: largest(byTeam).map(([team, sum]) => ({ team, ...shown(sum) })),
      byRoute: largest(byRoute).map(([, { model, channel, ...sum }]) => ({ model, channel, ...shown(sum) })),
    }),
  };
}

const newSum = (): Sum => ({ requests: 0, before: 0, after: 0 });

function sumIn<Name, Of extends object>(sums: Map<Name, Sum & Of>, name: Name, of: Of): Sum {
  const sum = sums.get(name) ?? { ...newSum(), ...of };
  sums.set(name, sum);
  return sum;
}

function addTo(sum: Sum, one: Sum): void {
  sum.requests += one.requests;
  sum.before += one.before;
  sum.after += one.after;
}

const largest = <Name, One extends Sum>(sums: ReadonlyMap<Name, One>): [Name, One][] =>
  [...sums]
    .toSorted(([, a], [, b]) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before))
    .slice(0, MAX_ROWS);

const shown = ({ requests, before, after }: Sum) => ({
  requests: Math.round(requests * 10) / 10,
  beforeMicroUsd: Math.round(before),
  afterMicroUsd: Math.round(after),
});

/** Of what is less than a dollar, parts of a cent as well. */
const dollars = (microUsd: number): string =>
  `$${(microUsd / 1e6).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: microUsd < 1e6 ? 4 : 2 })}`;

/** `search-team's requests for summaries would have cost $31.00 less: $80.00 instead of $111.00 (4,210 requests).` */
function differenceSentence({
  team,
  model,
  requests,
  before,
  after,
}: Sum & { readonly team: string | null; readonly model: string }): string {
  const whose =
    team === null ? `Requests for ${model} by keys without a team` : `${team}'s requests for ${model}`;
  const difference = `${dollars(Math.abs(after - before))} ${after < before ? 'less' : 'more'}`;
  return `${whose} would have cost ${difference}: ${dollars(after)} instead of ${dollars(before)} (${counted(requests, 'request')}).`;
}
