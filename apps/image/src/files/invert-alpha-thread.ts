import { GatewayError } from '@gateway/contracts/gateway-error';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { BadPng, invertPng } from './invert-png.ts';

export interface InvertTask {
  readonly sourcePath: string;
  readonly targetPath: string;
}

serveTasks(async ({ sourcePath, targetPath }: InvertTask) => {
  try {
    await invertPng(sourcePath, targetPath);
  } catch (error) {
    if (!(error instanceof BadPng)) throw error;
    throw new GatewayError('invalid_mask_image_format', { path: ['mask'], message: error.message });
  }
  return { result: null };
});
