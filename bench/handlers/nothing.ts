/** What every function pays: Node.js and the runtime client. */
export const handler = async (): Promise<{ readonly firstCall: number }> => ({ firstCall: 0 });
