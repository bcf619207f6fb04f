import { connectSocket } from '@gateway/testkit/connect-socket';
import { type OtlpReceiver, startOtlpReceiver } from '@gateway/testkit/start-otlp-receiver';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askAdmin } from '../support/admin-keys.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/start-gateway.ts';

/** A trace through the edge and its services, in one process and in several. */

const configuration = (origin: string): string => `
channels:
  own: { provider: simulator, baseUrl: "${origin}", apiKey: k, passTraceparent: true }
  foreign: { provider: simulator, baseUrl: "${origin}", apiKey: k }
models:
  gpt-5.2: { kind: text, routes: [{ channel: own }] }
  foreign: { kind: text, routes: [{ channel: foreign, model: gpt-5.2 }] }
`;
const WAYS: Readonly<Record<string, GatewayOptions>> = {
  'one process': {},
  'a process each': { mode: 'each', services: ['edge', 'text'] },
};
const CALLERS = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

describe.for(Object.keys(WAYS))('%s', (way) => {
  let receiver: OtlpReceiver;
  let gateway: Gateway;
  const isOne = WAYS[way]?.mode !== 'each';
  /** Another process of the gateway has a span of its own. */
  const spansOfRequest = isOne ? 3 : 4;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    gateway = await startGateway({
      ...WAYS[way],
      configuration,
      env: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/own/path`,
        OTEL_BSP_SCHEDULE_DELAY: '50',
        TRACE_URL: 'https://tempo.example.com/trace/{traceId}?from=gateway',
        ...(isOne && {
          OTEL_SERVICE_NAME: 'our-gateway',
          OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_AND_EVENT',
        }),
      },
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await receiver?.close();
  });
  beforeEach(() => gateway.simulator.reset());

  const ask = async (headers: Record<string, string>, model = 'gpt-5.2', input = 'hi') => {
    const reply = await gateway.fetch('/v1/responses', { json: { model, input }, headers });
    expect(reply.status).toBe(200);
    await reply.text();
  };

  test("a caller's trace goes on through each process to the provider that may have it, and nothing else of its context does", async () => {
    await ask({
      traceparent: `00-${CALLERS}-${PARENT}-01`,
      tracestate: 'vendor=of-the-caller',
      baggage: 'user=of-the-caller',
    });
    const spans = await receiver.trace(CALLERS, spansOfRequest);
    const [edge] = spans.filter(({ kind }) => kind === 'server');
    const [inside] = spans.filter(({ kind }) => kind === 'internal');
    const chat = spans.find(({ name }) => name === 'chat gpt-5.2');
    const attempt = spans.find(({ name }) => name === 'attempt own');
    expect(edge?.parentSpanId).toBe(PARENT);
    expect(inside?.parentSpanId).toBe(isOne ? undefined : edge?.spanId);
    expect(chat?.parentSpanId).toBe((inside ?? edge)?.spanId);
    expect(attempt?.parentSpanId).toBe(chat?.spanId);
    expect(new Set(spans.map(({ resource }) => resource['service.name']))).toEqual(
      new Set(isOne ? ['our-gateway'] : ['gateway-edge', 'gateway-text']),
    );
    const [sent] = gateway.simulator.requests;
    expect(sent?.headers.traceparent).toBe(`00-${CALLERS}-${attempt?.spanId}-01`);
    expect(JSON.stringify(sent?.headers)).not.toContain('of-the-caller');
    expect(receiver.requests[0]?.path).toBe('/own/path');
  });

  test('a channel that is not allowed it gets no traceparent, and a caller cannot say what only the edge says', async () => {
    const forged = {
      'x-gateway-trace': `00-${CALLERS}-${PARENT}-01`,
      'x-request-id': 'request-with-a-forged-trace',
    };
    await ask(forged, 'foreign');
    expect(gateway.simulator.requests[0]?.headers.traceparent).toBeUndefined();
    const span = await receiver.find(
      ({ attributes }) => attributes['gateway.request.id'] === 'request-with-a-forged-trace',
    );
    expect(span.traceId).not.toBe(CALLERS);
  });

  test('the line of a request, its usage record and an example in the metrics name its trace', async () => {
    await ask({ 'x-request-id': 'request-with-a-line' });
    const line = await waitFor(() => gateway.lines.find(({ text }) => text.includes('request-with-a-line')));
    const { traceId, spanId } = JSON.parse(line.text);
    const spans = await receiver.trace(traceId, spansOfRequest);
    expect(spans.map((span) => span.spanId)).toContain(spanId);
    // The record is there a moment after the answer.
    const shown = await waitFor(() =>
      askAdmin(gateway.stack, 'GET', '/admin/v1/requests/request-with-a-line'),
    );
    expect(await shown.json()).toMatchObject({
      trace: { id: traceId, url: `https://tempo.example.com/trace/${traceId}?from=gateway` },
    });
    const headers = { accept: 'application/openmetrics-text' };
    const page = await fetch(`${gateway.stack.edgeMetricsUrl}/metrics`, { headers });
    expect(await page.text()).toContain(`# {trace_id="${traceId}"}`);
  });

  test('each response over a WebSocket is a trace of its own that refers to the connection', async () => {
    using socket = await connectSocket(`${gateway.url}/v1/responses`, {
      authorization: `Bearer ${gateway.key}`,
      traceparent: `00-${CALLERS}-${PARENT}-01`,
    });
    for (const input of ['one', 'two']) {
      socket.send({ type: 'response.create', model: 'gpt-5.2', input });
      await socket.answer();
    }
    const turns = await waitFor(() => {
      const found = receiver.spans.filter(
        ({ attributes }) => attributes['gateway.transport'] === 'websocket',
      );
      return found.length >= 2 && found;
    });
    expect(new Set(turns.map(({ traceId }) => traceId)).size).toBe(2);
    for (const turn of turns) {
      expect(turn.links).toEqual([{ traceId: CALLERS, spanId: expect.any(String) }]);
      const names = (await receiver.trace(turn.traceId, 3)).map(({ name }) => name);
      expect(names.toSorted()).toEqual(['POST /v1/responses', 'attempt own', 'chat gpt-5.2']);
    }
  });

  test('a turn over a WebSocket goes on with the trace that its own metadata name', async () => {
    const trace = { traceId: '1bf7651916cd43dd8448eb211c80319d', spanId: 'c7ad6b7169203332' };
    using socket = await connectSocket(`${gateway.url}/v1/responses`, {
      authorization: `Bearer ${gateway.key}`,
      traceparent: `00-${CALLERS}-${PARENT}-01`,
    });
    const metadata = { traceparent: `00-${trace.traceId}-${trace.spanId}-01` };
    socket.send({ type: 'response.create', model: 'gpt-5.2', input: 'one', metadata });
    await socket.answer();
    const spans = await receiver.trace(trace.traceId, 3);
    const turn = spans.find(({ kind }) => kind === 'server');
    expect(turn?.parentSpanId).toBe(trace.spanId);
    expect(turn?.links).toEqual([{ traceId: CALLERS, spanId: expect.any(String) }]);
  });

  test('a span has what was asked and answered only where the operator wants it and the caller does not refuse it', async () => {
    const contentOf = async (requestId: string, headers: Record<string, string> = {}) => {
      await ask({ 'x-request-id': requestId, ...headers }, 'gpt-5.2', 'Mail to ann.lee@example.com');
      const { attributes, events } = await receiver.find(
        (span) => span.kind === 'client' && span.attributes['gateway.request.id'] === requestId,
      );
      const content = Object.keys(attributes).filter((name) => name.endsWith('.messages'));
      return { content, attributes, events };
    };
    const wanted = await contentOf('request-with-content');
    const refused = await contentOf('request-without-content', { 'x-gateway-content-log': 'off' });
    expect([refused.content, refused.events]).toEqual([[], []]);
    if (!isOne) return expect([wanted.content, wanted.events]).toEqual([[], []]);
    const input = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Mail to [email]' }] }]);
    expect(wanted.attributes['gen_ai.input.messages']).toBe(input);
    expect(wanted.attributes['gen_ai.output.messages']).toContain('You said: Mail to [email]');
    expect(wanted.events).toMatchObject([
      {
        name: 'gen_ai.client.inference.operation.details',
        attributes: { 'gen_ai.input.messages': input },
      },
    ]);
  });

  test('what is queued is exported when the gateway stops', async () => {
    await ask({ 'x-request-id': 'the-last-request' });
    await gateway.close();
    const last = receiver.spans.filter(
      ({ attributes }) => attributes['gateway.request.id'] === 'the-last-request',
    );
    // Those of the request and of the inference, in each process; an attempt does not name the request.
    expect(last.length).toBe(spansOfRequest - 1);
  });
});
