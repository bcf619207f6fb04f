import type { IncomingHttpHeaders } from 'node:http';
import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { JsonObject } from '@gateway/contracts/json/json-object';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import {
  type Consumption,
  NOTHING_CONSUMED,
  type UsageOutcome,
  type UsageResult,
  type UsageSubject,
} from '@gateway/contracts/usage/usage-record';
import { estimateOf } from '@gateway/metering/meter/estimate';
import type { Meter } from '@gateway/metering/meter/meter';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import { callerNamesIn } from '@gateway/model-service/caller-names';
import type { ContentLog, ContentNote } from '@gateway/model-service/content-log/content-log';
import { LEFT } from '@gateway/model-service/content-log/request-content';
import type { Counting } from '@gateway/model-service/counted-request';
import { type ReservedRequest, reserveRequest } from '@gateway/model-service/metered-request';
import { type CallerAccess, keyEnded } from '@gateway/model-service/sockets/caller-access';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { LoadGuard } from '@gateway/service-kit/load/load-guard';
import { openRequest } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import type { RequestLog } from '@gateway/service-kit/request/request-log';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { mayUse } from '@gateway/upstream/model-for';
import type { UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RealtimeMetrics } from './realtime-metrics.ts';
import { costOf, createCharges, type SessionCharges, withoutSlots } from './session-charges.ts';
import type { ResponseContent, SessionContent } from './session-content.ts';
import { providerClosed } from './session-end.ts';

/** What sessions are accounted with. */
export interface AccountingServices {
  readonly upstream: Upstream;
  readonly meter: Meter;
  readonly counting: Counting;
  readonly access: CallerAccess;
  readonly requestLog: RequestLog;
  readonly load: LoadGuard;
  readonly contentLog: ContentLog;
  readonly metrics: Pick<RealtimeMetrics, 'used'>;
  readonly deadline: AbortSignal;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface AccountsOptions extends AccountingServices {
  readonly headers: IncomingHttpHeaders;
  readonly connectionId: string;
  readonly secretHash: string;
  /** As the key was when the session was opened. */
  readonly opener: Identity;
  readonly model: ResolvedModel;
  readonly socket: Pick<UpstreamSocket, 'candidate' | 'attempts'>;
  readonly content: Pick<SessionContent, 'open'>;
}

/** How a response ended. */
export interface ResponseEnd {
  readonly outcome: UsageOutcome;
  /** As reported; null: its provider does not say. */
  readonly reported: Consumption | null;
  /** The model's sound that has come, in tokens. */
  readonly spokenTokens: number;
  readonly heardMs: number;
  readonly firstByteMs: number | null;
  /** Its words: as its provider reports them at its end, or as far as they came. Null: none. */
  readonly answer: JsonObject | null;
  readonly failure?: GatewayError;
}

/** One that failed without a sound is not billed; of any other its input was read. */
export const isFree = ({
  outcome,
  reported,
  spokenTokens,
}: Pick<ResponseEnd, 'outcome' | 'reported' | 'spokenTokens'>): boolean =>
  reported === null && spokenTokens === 0 && outcome === 'failed';

/** One response, of which the most that it can cost is reserved. */
export interface ResponseAccount {
  /** That of the event which requested it; null: it named none, or its provider began by itself. */
  readonly eventId: string | null;
  readonly openedAtMs: number;
  /** Only the first call counts. */
  settle(end: ResponseEnd): void;
  /** No response came of it. */
  release(): void;
}

interface ResponseRequest {
  readonly isCallers: boolean;
  readonly eventId: string | null;
  /** The members of the request for it. */
  readonly asked: JsonObject;
  readonly largest: Consumption;
}

export interface ResponseAccounts extends SessionCharges {
  /** Counts and reserves a response. @throws {GatewayError} where it may not be, after it was logged */
  reserve(request: ResponseRequest): Promise<ResponseAccount>;
  /** For one that its provider began though it may not be: what it has used is charged all the same. */
  unreserved(largest: Consumption): ResponseAccount;
  /** The key now. @throws {GatewayError} `invalid_key`, `endpoint_not_allowed`; `service_unavailable` */
  checkKey(): Promise<Identity>;
}

const NO_NOTES = () => undefined;

export function createResponseAccounts(options: AccountsOptions): ResponseAccounts {
  const { counting, access, requestLog, load: guard, deadline, meter, metrics, now } = options;
  const { headers, connectionId, secretHash, opener, model, socket, content } = options;
  const { candidate, attempts } = socket;
  const price = model.priceAt(candidate.route);
  const caller = { note: NO_NOTES, headers };

  const open = (identity: Identity) => {
    const load = guard.begin(REALTIME, identity);
    const requestId = requestIdOf(undefined);
    const { context, close } = openRequest(REALTIME.path, { requestId, identity, deadline, load });
    const logEnd = requestLog.begin({ method: 'POST', url: REALTIME.path }, context, REALTIME.path);
    const { channel, account } = candidate;
    Object.assign(context.line, {
      ...{ transport: 'websocket', connectionId, model: model.name },
      ...{ channel: channel.name, account: account.name },
    });
    const end = (failure?: GatewayError) => {
      context.failure = failure;
      close(true);
      logEnd({ status: failure?.status('openai') ?? 200, isAnswered: true });
    };
    return { context, load, identity, end };
  };
  type Opened = ReturnType<typeof open>;

  const checkKey = async (): Promise<Identity> => {
    const identity = await access.identify(secretHash);
    if (identity === undefined) throw keyEnded();
    access.permit(identity);
    if (!mayUse(identity, model.name)) throw modelLost(model.name);
    return identity;
  };

  const resultOf = (
    estimate: UsageResult,
    openedAtMs: number,
    end: ResponseEnd,
    note: ContentNote | undefined,
  ): UsageResult => {
    const { reported, spokenTokens, outcome, firstByteMs, failure, heardMs } = end;
    const costsNothing = isFree(end);
    const guessed = { ...estimate.consumption, outputTokens: spokenTokens };
    const counted = reported ?? (costsNothing ? NOTHING_CONSUMED : guessed);
    const consumption = { ...counted, audioMs: costsNothing ? 0 : heardMs };
    const estimated = reported === null && !costsNothing;
    const usual = costsNothing && price !== null ? 0 : costOf(price, consumption);
    const cost = estimated ? estimateOf(price, consumption).costMicroUsd : usual;
    return {
      ...{ outcome, consumption, estimated, costMicroUsd: cost, firstByteMs },
      channel: candidate.channel.name,
      attempts: 1,
      durationMs: Math.round(performance.now() - openedAtMs),
      detail: {
        ...usageDetail({
          ...{ attempts: attempts.slice(-1), isStreamed: true },
          unitPrices: price && unitPricesOf(price, consumption),
        }),
        ...note,
        ...(failure && failureDetail(failure, 'openai')),
      },
    };
  };

  const accountOf = (
    { context, identity, end: logEnd }: Opened,
    { eventId, largest }: Pick<ResponseRequest, 'eventId' | 'largest'>,
    reserved: Pick<ReservedRequest, 'settle' | 'release'>,
    logged: ResponseContent | null,
  ): ResponseAccount => {
    const openedAtMs = performance.now();
    const estimate = estimateOf(price, largest);
    let isOver = false;
    return {
      eventId,
      openedAtMs,
      settle: (end) => {
        if (isOver) return;
        isOver = true;
        const result = resultOf(estimate, openedAtMs, end, logged?.note);
        const { inputTokens, outputTokens } = result.consumption;
        metrics.used(candidate.channel.name, result.consumption);
        const { outcome: responseOutcome, estimated, costMicroUsd: cost } = result;
        Object.assign(context.line, { responseOutcome, inputTokens, outputTokens, costMicroUsd: cost });
        if (estimated) context.line.estimated = true;
        void reserved.settle(result);
        logEnd(end.failure);
        const { requestId, line } = context;
        const id = String(line.usageId ?? requestId);
        logged?.end({ id, requestId, identity, answer: end.answer, error: errorOf(end) });
      },
      release: () => {
        if (isOver) return;
        isOver = true;
        context.line.responseOutcome = 'none';
        void reserved.release();
        logged?.cancel();
        logEnd();
      },
    };
  };

  const subjectOf = (endpointModel: string): UsageSubject => ({
    id: requestIdOf(undefined),
    keyId: opener.keyId,
    team: opener.team,
    endpoint: 'realtime',
    model: endpointModel,
    startedAtMs: now(),
    requestId: connectionId,
    ...callerNamesIn(headers),
  });

  return {
    checkKey,
    reserve: async (request) => {
      let opened: Opened | null = null;
      let logged: ResponseContent | null = null;
      try {
        const identity = await checkKey();
        opened = open(identity);
        const { context, load } = opened;
        if (request.isCallers) load.admit(0);
        logged = await content.open(context.requestId, identity);
        // The session has the slot of a request at once; each of its responses counts as one more in a minute.
        const counted = withoutSlots(identity);
        const entry = counting.entry.open(counted, context.dialect, {
          delivery: null,
          onEntered: ({ refusal }) => {
            if (refusal !== null) counting.refusals.add(refusal.reason, identity, REALTIME);
          },
        });
        const reserved = await reserveRequest(
          { meter, now },
          {
            ...{ endpoint: 'realtime', model: model.name, estimate: estimateOf(price, request.largest) },
            ...{ caller, identity: counted, context, entry },
          },
        );
        logged?.begin(request.asked);
        return accountOf(opened, request, reserved, logged);
      } catch (thrown) {
        logged?.cancel();
        const error = toGatewayError(thrown);
        (opened ?? open(opener)).end(error);
        throw error;
      }
    },
    unreserved: (largest) => {
      const subject = subjectOf(model.name);
      const settle = async (result: UsageResult) => void (await meter.settleOnce(subject, result));
      return accountOf(
        open(opener),
        { eventId: null, largest },
        { settle, release: async () => undefined },
        null,
      );
    },
    ...createCharges({ ...options, price, subjectOf }),
  };
}

/** Why a response has no whole answer; null: it has one. */
const errorOf = ({ outcome, failure }: ResponseEnd): Pick<GatewayError, 'code' | 'message'> | null =>
  failure ?? (outcome === 'left' ? LEFT : outcome === 'cut' ? providerClosed(ABNORMAL).error : null);

/** How a provider closes that says nothing. */
const ABNORMAL = 1006;

const modelLost = (name: string): GatewayError =>
  new GatewayError(
    'endpoint_not_allowed',
    `This key may no longer use the model '${name}'. Ask the person who gave you the key.`,
  );
