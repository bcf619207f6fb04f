import { createServer } from 'node:http';
import { freePort } from './children.ts';
import { compare } from './compared.ts';
import type { Contender } from './contender.ts';
import { type Processes, startGateway } from './gateway.ts';
import { processorFigure } from './processor-time-rows.ts';
import { REQUESTS } from './requests.ts';
import type { Row } from './row.ts';

/** The name of a contender that exports no traces. */
export const NOT_TRACED = ', not traced';

/** Takes every batch and reads none: its cost is not the gateway's. */
async function startCollector() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200).end());
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Processor time of a small request that is traced, with all others, and of one by a gateway that exports no traces, in turn. */
export const tracedRow: Row = {
  id: 'traced',
  what: 'small JSON, every request traced',
  unit: 'µs',
  measure: async ({ generator, gateways, rounds, upstreamUrl }) => {
    await using cleanup = new AsyncDisposableStack();
    const collector = await startCollector();
    cleanup.defer(collector.stop);
    const all: Contender[] = [];
    for (const way of ['each', 'one'] as const satisfies readonly Processes[]) {
      const traced = await startGateway(way, upstreamUrl, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
      cleanup.defer(traced.plain.stop);
      const plain = gateways.find(({ name }) => name === traced.plain.name);
      all.push(traced.plain, ...(plain ? [{ ...plain, name: plain.name + NOT_TRACED }] : []));
    }
    const measured = await compare(all, () => ({ generator, request: REQUESTS.small }), rounds);
    return new Map([...measured].map(([name, found]) => [name, processorFigure(found, 1)]));
  },
};
