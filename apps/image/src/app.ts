import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { assetsHandler } from './handlers/assets-handler.ts';
import { editsHandler } from './handlers/edits-handler.ts';
import { generationsHandler } from './handlers/generations-handler.ts';
import { imageJobHandlers } from './handlers/image-job-handlers.ts';
import type { ImageService } from './handlers/image-service.ts';

interface ImageAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, ImageService {}

/** The image service: images are made by workers, awaited here, and handed out under signed URLs. */
export const createImageService = (options: ImageAppOptions): Service =>
  createService({
    ...options,
    service: 'image',
    handlers: {
      'POST /v1/images/generations': generationsHandler(options),
      'POST /v1/images/edits': editsHandler(options),
      'GET /v1/images/assets/{id}': assetsHandler(options),
      ...imageJobHandlers(options),
    },
  });
