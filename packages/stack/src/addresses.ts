import type { Environment } from './environment.ts';
import type { PortChooser } from './ports.ts';
import { EDGE_METRICS_PORT, EDGE_PORT, SIMULATOR_PORT } from './process-table.ts';

/** What other processes must know before its owner runs. */
export interface KnownAddresses {
  /** By the variable that configures them. */
  readonly ports: Readonly<Record<string, number>>;
  readonly edgeUrl: string;
  readonly edgeMetricsUrl: string;
  /** The environment's own, or where ours will be. */
  readonly simulatorUrl: string;
}

/** The edge's address is in the URLs that the gateway hands out; the simulator's is in the configuration's channels. */
export async function chooseAddresses(ports: PortChooser, env: Environment): Promise<KnownAddresses> {
  const edge = await ports.public(EDGE_PORT);
  const edgeMetrics = await ports.internal(EDGE_METRICS_PORT);
  const simulator = await ports.internal(SIMULATOR_PORT);
  return {
    ports: {
      [EDGE_PORT.variable]: edge,
      [EDGE_METRICS_PORT.variable]: edgeMetrics,
      [SIMULATOR_PORT.variable]: simulator,
    },
    edgeUrl: localUrl(edge),
    edgeMetricsUrl: localUrl(edgeMetrics),
    simulatorUrl: env.SIMULATOR_URL || localUrl(simulator),
  };
}

export const localUrl = (port: number): string => `http://127.0.0.1:${port}`;
