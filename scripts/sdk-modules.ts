/** What Lambda's runtimes bring of the AWS SDK, as bundlers are told to leave it out. A partial one in a layer or a bundle would shadow it. */
export const SDK_MODULES = ['@aws-sdk/*', '@smithy/*'];
