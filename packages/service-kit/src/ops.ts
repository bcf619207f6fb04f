import type { RequestListener } from 'node:http';
import { READINESS_CHANGES_PATH } from '@gateway/contracts/readiness';
import type { ProcessSettings } from './config.ts';
import type { Readiness } from './life/readiness.ts';
import type { MetricsPage } from './metrics.ts';
import { acceptsOpenMetrics } from './open-metrics.ts';
import { type Pages, servePages, writeJsonPage, writePage } from './pages.ts';
import type { Started } from './start-service.ts';

/** `/healthz` (the process is alive) and `/readyz` (it can serve, else what is missing). */
export const healthPages = (readiness: Readiness, { showMissing }: { showMissing: boolean }): Pages => ({
  '/healthz': (_request, response) => writeJsonPage(response, { status: 'ok' }),
  '/readyz': async (_request, response) => {
    const { status, missing } = await readiness.report();
    const isReady = status === 'ok';
    const shown = isReady ? 'ok' : 'unready';
    writeJsonPage(
      response,
      showMissing ? { status: shown, missing } : { status: shown },
      isReady ? 200 : 503,
    );
  },
});

/** How long an edge may take to take this address out once it knows that the process stops. */
const LEAVE_MS = 1000;

/**
 * The readiness as lines of JSON, for edges: several a second, and at once when the process stops. An edge that has taken
 * this address out then ends the request; a process waits for that before it closes any connection. One that has not is cut off:
 * the end of a reply would wait for a client that does not read.
 */
export const readinessChangesPage = (readiness: Readiness): Pages => ({
  [READINESS_CHANGES_PATH]: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    let leaving: NodeJS.Timeout | undefined;
    const unwatch = readiness.watch((report) => {
      if (report.status === 'stopping') leaving ??= setTimeout(() => response.destroy(), LEAVE_MS);
      // Nothing is queued for an edge that does not read. To that edge the process is silent.
      if (!response.writableNeedDrain) response.write(`${JSON.stringify(report)}\n`);
    });
    response.once('close', () => {
      clearTimeout(leaving);
      unwatch();
    });
  },
});

/** `/metrics` in Prometheus' text format, or as OpenMetrics where that is asked for. */
export const metricsPage = (page: MetricsPage): Pages => ({
  '/metrics': async (request, response) => {
    const { contentType, text } = acceptsOpenMetrics(request.headers.accept) ? page.openMetrics : page;
    response.setHeader('vary', 'accept');
    writePage(response, { type: contentType, text: await text() });
  },
});

/** Serves nothing else. */
export function onlyPages(pages: Pages): RequestListener {
  const serve = servePages(pages);
  return (request, response) =>
    serve(request, response, (error) => void response.writeHead(error === undefined ? 404 : 500).end());
}

/** Health and metrics of a process that serves nothing else, on a port of their own. */
export async function listenForOps(
  { config, life, page }: Pick<Started<ProcessSettings>, 'config' | 'life' | 'page'>,
  { port, portSetting }: { readonly port: number; readonly portSetting: string },
): Promise<void> {
  const pages = { ...healthPages(life.readiness, { showMissing: true }), ...metricsPage(page) };
  await life.listen(onlyPages(pages), { port, host: config.HOST, portSetting });
}
