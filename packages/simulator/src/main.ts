import { ownEnvironment } from '@gateway/contracts/environment';
import { errorMessage } from '@gateway/contracts/error-message';
import { startSimulator } from './start-simulator.ts';

const DEFAULT_PORT = 8089;

const env = ownEnvironment(process.env);
const port = Number(env.SIMULATOR_PORT || DEFAULT_PORT);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`SIMULATOR_PORT is "${env.SIMULATOR_PORT}"; expected a port number.`);
  process.exit(1);
}

const simulator = await startSimulator({
  port,
  host: env.SIMULATOR_HOST || '127.0.0.1',
  records: false,
}).catch((error: unknown) => {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const reason = errorMessage(error);
  console.error(
    isTaken
      ? `Port ${port} is taken. Stop what uses it, or set SIMULATOR_PORT to another port.`
      : `The simulator cannot start: ${reason}`,
  );
  process.exit(1);
});

// `disconnect`: the process that started this one has ended.
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) {
  process.once(event, () => {
    void simulator.close().then(() => process.exit(0));
  });
}

if (process.send) process.send({ type: 'ready', port: simulator.port });
else console.log(`simulator: ${simulator.baseUrl}`);
