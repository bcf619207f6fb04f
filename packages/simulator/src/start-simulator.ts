import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BatchPlan, createBatchStore } from './batches/batch-store.ts';
import type { Cloud } from './clouds/cloud.ts';
import { createFileStore } from './images/file-store.ts';
import { createLedger, type LedgerRow } from './ledger.ts';
import { createThreadStore } from './messages/thread-store.ts';
import { createIds, type Provider } from './provider.ts';
import type { RealtimeBehaviour, SimulatedRealtime } from './realtime/realtime-script.ts';
import { serveRealtime } from './realtime/realtime-server.ts';
import { RepeatCounter } from './requests/call.ts';
import type { RecordedRequest } from './requests/recorded-request.ts';
import { createRequestHandler, type Served } from './requests/request-handler.ts';
import { createRequestLog, type RequestPredicate } from './requests/request-log.ts';
import { createConversationStore } from './responses/conversation-store.ts';
import { createResponseStore } from './responses/response-store.ts';
import { createScriptQueue, type Matcher, type ScriptedReply } from './script/script-queue.ts';

export interface SimulatorOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Keeps the received requests in memory, bounded. Default true; benchmarks use false. */
  readonly records?: boolean;
  /** Keys that are accepted. Default: every key that is not empty and does not begin with `sk-invalid`. */
  readonly apiKeys?: readonly string[];
  /** Refuses members that the protocol does not have, as the real providers do. Default false. */
  readonly refusesUnknown?: boolean;
  /** Makes the ids of two runs equal. */
  readonly idSeed?: string;
  /** Providers with different secrets refuse each other's signatures and encrypted reasoning. */
  readonly signatureSecret?: string;
  /** The cloud that stands in front of the models. */
  readonly cloud?: Cloud;
  /** Scripts every request for which no reply is scripted; undefined for an ordinary answer. */
  readonly behave?: (request: RecordedRequest) => ScriptedReply | undefined;
  /** Called when a reply is over. */
  readonly onServed?: (served: Served) => void;
  /** The same for realtime sessions. */
  readonly realtime?: RealtimeBehaviour;
}

export interface Simulator extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`: the base URL of a Messages client. */
  readonly url: string;
  /** The same with `/v1`: the base URL of all others. */
  readonly baseUrl: string;
  readonly port: number;
  /** The received requests, oldest first; at most the last thousand. */
  readonly requests: readonly RecordedRequest[];
  /** The first request, not returned before, that matches; waits until it has been received whole. */
  nextRequest(predicate?: RequestPredicate): Promise<RecordedRequest>;
  /** Scripts one reply for the next request that matches (every request when no matcher is given). */
  script(matcher: Matcher, reply: ScriptedReply): void;
  script(reply: ScriptedReply): void;
  /** Its realtime sessions, and what goes wrong with them. */
  readonly realtime: SimulatedRealtime;
  /** How many scripted replies have not been used. */
  readonly scriptsWaiting: number;
  /** What it does with batches; `reset` has it do them at once again. */
  readonly batches: BatchPlan;
  ledger(): Readonly<Record<string, LedgerRow>>;
  /** Deletes requests, scripts, ledger, stored responses, conversations, threads, files and batches. */
  reset(): void;
  /** Refuses connections, and cuts those that are open. Its state stays. */
  refuse(): Promise<void>;
  /** Takes connections again, on its port. */
  accept(): Promise<void>;
  /** Stops listening and cuts open connections. */
  close(): Promise<void>;
}

export const DEFAULT_SIGNATURE_SECRET = 'simulated provider';
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/** Starts the simulated provider in this process. Rejects when the port is taken. */
export const startSimulator = async (options: SimulatorOptions = {}): Promise<Simulator> => {
  const { port = 0, host = '127.0.0.1', records = true } = options;
  const log = createRequestLog();
  const scripts = createScriptQueue();
  const repeats = new RepeatCounter();
  const provider: Provider = {
    ids: createIds(options.idSeed),
    ledger: createLedger(),
    responses: createResponseStore(),
    conversations: createConversationStore(),
    threads: createThreadStore(Date.now),
    files: createFileStore(),
    batches: createBatchStore(),
    apiKeys: options.apiKeys ?? null,
    refusesUnknown: options.refusesUnknown ?? false,
    signatureSecret: options.signatureSecret ?? DEFAULT_SIGNATURE_SECRET,
    url: () => url,
    nowSeconds: () => Math.floor(Date.now() / 1000),
  };
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, requestTimeout: 0 },
    createRequestHandler({
      provider,
      log: records ? log : null,
      scripts,
      repeats,
      cloud: options.cloud,
      behave: options.behave,
      onServed: options.onServed,
    }),
  );
  const realtime = serveRealtime(server, provider, { records, behaviour: options.realtime });
  const listen = (onPort: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(onPort, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port);
  const address = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;

  const refuse = async (): Promise<void> => {
    if (!server.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
      realtime.close();
    });
  };
  const close = (): Promise<void> => {
    provider.responses.clear();
    return refuse();
  };
  return {
    url,
    baseUrl: `${url}/v1`,
    port: address.port,
    requests: log.requests,
    nextRequest: (predicate) => log.next(predicate),
    script: (first: Matcher | ScriptedReply, reply?: ScriptedReply) => {
      if (reply) scripts.add(first as Matcher, reply);
      else scripts.add(undefined, first as ScriptedReply);
    },
    realtime,
    get scriptsWaiting() {
      return scripts.waiting;
    },
    batches: provider.batches.plan,
    ledger: () => provider.ledger.rows(),
    reset: () => {
      log.clear();
      scripts.clear();
      repeats.clear();
      provider.ledger.clear();
      realtime.clear();
      provider.responses.clear();
      provider.conversations.clear();
      provider.threads.clear();
      provider.files.clear();
      provider.batches.clear();
    },
    refuse,
    accept: () => listen(address.port),
    close,
    [Symbol.asyncDispose]: close,
  };
};
