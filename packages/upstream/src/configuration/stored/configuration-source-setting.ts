import { z } from 'zod';

/** Where the truth of the configuration is: in the file that each service follows, or in the database, where the console changes it. */
export const ConfigurationSourceSetting = z.enum(['file', 'database']).default('file');
