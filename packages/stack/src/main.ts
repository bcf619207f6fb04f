/** `npm start`: the whole gateway on this machine, in the foreground. */
import { runStarter } from './starter/run-starter.ts';

await runStarter(process);
