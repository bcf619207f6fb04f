import type { Environment } from '@gateway/contracts/environment';
import type { PortChooser } from './ports.ts';
import {
  ADMIN_PORT,
  EDGE_METRICS_PORT,
  EDGE_PORT,
  type ProcessMode,
  SIMULATOR_PORT,
} from './process-table.ts';

/** Addresses that other processes need before their owners run. */
export interface KnownAddresses {
  /** By the variable that configures them. */
  readonly ports: Readonly<Record<string, number>>;
  readonly edgeUrl: string;
  readonly edgeMetricsUrl: string;
  /** Null where admin has a process of its own, which reports its port once it listens. */
  readonly adminUrl: string | null;
  /** The environment's, or the address of the stack's own Redis. */
  readonly simulatorUrl: string;
}

/** The edge's address is in the URLs that the gateway hands out; the simulator's is in the configuration's channels. */
export async function chooseAddresses(
  ports: PortChooser,
  env: Environment,
  mode: ProcessMode,
): Promise<KnownAddresses> {
  const edge = await ports.public(EDGE_PORT);
  const edgeMetrics = await ports.internal(EDGE_METRICS_PORT);
  const simulator = await ports.internal(SIMULATOR_PORT);
  const admin = mode === 'one' ? await ports.internal(ADMIN_PORT) : null;
  return {
    ports: {
      [EDGE_PORT.variable]: edge,
      [EDGE_METRICS_PORT.variable]: edgeMetrics,
      [SIMULATOR_PORT.variable]: simulator,
      ...(admin === null ? {} : { [ADMIN_PORT.variable]: admin }),
    },
    edgeUrl: localUrl(edge),
    edgeMetricsUrl: localUrl(edgeMetrics),
    adminUrl: admin === null ? null : localUrl(admin),
    simulatorUrl: env.SIMULATOR_URL || localUrl(simulator),
  };
}

export const localUrl = (port: number): string => `http://127.0.0.1:${port}`;
