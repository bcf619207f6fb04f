import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { Price } from '@gateway/contracts/models/price';
import {
  type Consumption,
  NOTHING_CONSUMED,
  type UsageResult,
  type UsageSubject,
} from '@gateway/contracts/usage/usage-record';
import { estimateOf } from '@gateway/metering/meter/estimate';
import type { Meter } from '@gateway/metering/meter/meter';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import type { RealtimeMetrics } from './realtime-metrics.ts';
import { RESERVED_AUDIO_MS } from './session-facts.ts';
import type { Transcriber } from './session-settings.ts';

/** What is charged of a session beside its responses. It has been done by then: a limit that it goes beyond refuses what comes next. */
export interface SessionCharges {
  /** Charges a transcript of what the caller said. Resolves to why there may be no further ones; null: there may. */
  transcript(
    used: Consumption,
    transcriber: Transcriber | null,
    isGuessed: boolean,
  ): Promise<GatewayError | null>;
  /** Counts sound of the caller's that no response followed. Resolves to why there may be no more of it; null: there may. */
  sound(heardMs: number): Promise<GatewayError | null>;
  /** Resolves when nothing is being charged any more. */
  charged(): Promise<void>;
}

interface ChargesOptions {
  readonly meter: Pick<Meter, 'begin' | 'settleOnce'>;
  readonly metrics: Pick<RealtimeMetrics, 'used'>;
  /** As the key was when the session was opened. */
  readonly opener: Identity;
  readonly model: Pick<ResolvedModel, 'name'>;
  readonly price: Price | null;
  readonly socket: Pick<UpstreamSocket, 'candidate'>;
  /** The subject of one charge. @param model by the caller's name */
  readonly subjectOf: (model: string) => UsageSubject;
}

interface Charged {
  readonly by: Price | null;
  readonly used: Consumption;
  readonly isGuessed?: boolean;
  /** What has to fit the limits; absent: what was used. */
  readonly needed?: Consumption;
  /** What it counts on. */
  readonly key: Identity;
}

export function createCharges(options: ChargesOptions): SessionCharges {
  const { meter, metrics, opener, model, price, socket, subjectOf } = options;
  const charging = new Set<Promise<unknown>>();

  const charge = (name: string, charged: Charged): Promise<GatewayError | null> => {
    const work = begun(name, charged);
    charging.add(work);
    void work.then(() => charging.delete(work));
    return work;
  };

  const begun = async (name: string, charged: Charged): Promise<GatewayError | null> => {
    const { by, used, needed = used, isGuessed = false, key } = charged;
    const resultOf = (consumption: Consumption): UsageResult => ({
      ...estimateOf(by, consumption),
      ...{ estimated: isGuessed, channel: socket.candidate.channel.name, attempts: 1 },
      costMicroUsd: costOf(by, consumption),
      detail: usageDetail({
        attempts: [],
        isStreamed: true,
        unitPrices: by && unitPricesOf(by, consumption),
      }),
    });
    const subject = subjectOf(name);
    const result = resultOf(used);
    try {
      const demand = { subject, accounts: key.accounts, estimate: resultOf(needed) };
      void (await meter.begin(demand)).settle(result);
      return null;
    } catch (error) {
      void meter.settleOnce(subject, result);
      return toGatewayError(error);
    }
  };

  return {
    transcript: (used, transcriber, isGuessed) => {
      const by = transcriber === null ? price : transcriber.price;
      return charge(transcriber?.model.name ?? model.name, {
        ...{ by, used, isGuessed, key: forTranscripts(opener, model.name) },
      });
    },
    sound: (heardMs) => {
      const { perRequest: _, ...ofSound } = price ?? {};
      const used = { ...NOTHING_CONSUMED, audioMs: heardMs };
      metrics.used(socket.candidate.channel.name, used);
      return charge(model.name, {
        ...{ by: price && ofSound, used },
        needed: { ...NOTHING_CONSUMED, audioMs: Math.min(heardMs, RESERVED_AUDIO_MS) },
        key: forSoundAlone(opener),
      });
    },
    charged: async () => {
      while (charging.size > 0) await Promise.all(charging);
    },
  };
}

/** Null: there is no price. */
export const costOf = (price: Price | null, consumption: Consumption): number | null =>
  price === null ? null : costMicroUsd(price, consumption);

/** A key for what counts on all of its limits but that on requests at once. */
export const withoutSlots = (identity: Identity): Identity => ({
  ...identity,
  accounts: identity.accounts.map(({ limits: { concurrentRequests: _, ...limits }, ...account }) => ({
    ...account,
    limits,
  })),
});

/** A key for transcripts: their sound is the session's, which counts it on every limit that its own model has. */
const forTranscripts = (identity: Identity, sessionModel: string): Identity => ({
  ...identity,
  accounts: withoutSlots(identity).accounts.map(({ limits: { models = {}, ...limits }, ...account }) => {
    const { audioSecondsPerMinute: _, ...others } = limits;
    const ofModels = Object.entries(models).map(([pattern, { audioSecondsPerMinute, ...ofModel }]) => [
      pattern,
      audioSecondsPerMinute === undefined || fitsPattern(pattern, sessionModel)
        ? ofModel
        : { ...ofModel, audioSecondsPerMinute },
    ]);
    return { ...account, limits: { ...others, models: Object.fromEntries(ofModels) } };
  }),
});

/** A key for what is no request, and counts on its limits on sound and its budget alone. */
const forSoundAlone = (identity: Identity): Identity => ({
  ...identity,
  accounts: identity.accounts.map(({ limits: { audioSecondsPerMinute, models = {} }, ...account }) => ({
    ...account,
    limits: {
      ...(audioSecondsPerMinute !== undefined && { audioSecondsPerMinute }),
      models: Object.fromEntries(
        Object.entries(models).flatMap(([pattern, { audioSecondsPerMinute: seconds }]) =>
          seconds === undefined ? [] : [[pattern, { audioSecondsPerMinute: seconds }]],
        ),
      ),
    },
  })),
});
