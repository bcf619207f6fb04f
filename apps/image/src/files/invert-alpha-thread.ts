import { GatewayError } from '@gateway/contracts/gateway-error';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { z } from 'zod';
import { BadPng, invertPng } from './invert-png.ts';

const Task = z.object({ sourcePath: z.string(), targetPath: z.string() });

serveTasks(async (task) => {
  const { sourcePath, targetPath } = Task.parse(task);
  try {
    await invertPng(sourcePath, targetPath);
  } catch (error) {
    if (!(error instanceof BadPng)) throw error;
    throw new GatewayError('invalid_mask_image_format', { path: ['mask'], message: error.message });
  }
  return { result: null };
});
