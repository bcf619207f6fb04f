import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Gauge } from 'prom-client';

interface ConnectionBounds {
  readonly max: number;
  /** 0: any number. */
  readonly maxPerAddress: number;
}

/**
 * Bounds the connections of callers, in total and from one address. A connection beyond that is closed before a byte of it is
 * read: an answer would take what there is too little of.
 */
export function boundConnections(
  server: Server,
  { max, maxPerAddress }: ConnectionBounds,
  { registry }: MetricsRegistry,
): void {
  const byAddress = new Map<string, number>();
  let open = 0;
  const refused = new Counter({
    name: 'gateway_connections_refused_total',
    help: 'Connections that were closed immediately because there were too many, in total or of one address',
    labelNames: ['reason'],
    registers: [registry],
  });
  new Gauge({
    name: 'gateway_connections',
    help: 'Open connections of callers',
    registers: [registry],
    collect() {
      this.set(open);
    },
  });

  const leave = (address: string) => {
    open -= 1;
    const left = (byAddress.get(address) ?? 0) - 1;
    if (left > 0) byAddress.set(address, left);
    else byAddress.delete(address);
  };
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? 'unknown';
    const ofAddress = byAddress.get(address) ?? 0;
    const isOverAddress = maxPerAddress > 0 && ofAddress >= maxPerAddress;
    if (open >= max || isOverAddress) {
      refused.inc({ reason: isOverAddress ? 'address' : 'total' });
      return void socket.destroy();
    }
    open += 1;
    byAddress.set(address, ofAddress + 1);
    socket.once('close', () => leave(address));
  });
}
