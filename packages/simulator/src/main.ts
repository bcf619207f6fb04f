import { startSimulator } from './start-simulator.ts';

const DEFAULT_PORT = 8089;

const port = Number(process.env.SIMULATOR_PORT ?? DEFAULT_PORT);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`SIMULATOR_PORT is "${process.env.SIMULATOR_PORT}"; expected a port number.`);
  process.exit(1);
}

const simulator = await startSimulator({
  port,
  host: process.env.SIMULATOR_HOST ?? '127.0.0.1',
  records: false,
}).catch((error: unknown) => {
  console.error(`The simulator cannot start: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void simulator.close().then(() => process.exit(0));
  });
}

if (process.send) process.send({ type: 'ready', port: simulator.port });
else console.log(`simulator: ${simulator.baseUrl}`);
