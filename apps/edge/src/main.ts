import { startService } from '@gateway/service-kit/start-service';
import { EdgeConfig } from './config.ts';
import { openEdge } from './open-edge.ts';

await startService({ service: 'edge', settings: EdgeConfig, process }, openEdge);
